// SPDX-License-Identifier: Apache-2.0

internal import JSON

/// The JSON body of `POST /v1/validate`: the app, and one receipt or one signed transaction.
///
/// ```
/// {"id": "com.example.shop", "type": "application", "transaction": {"type": "ios-appstore", "appStoreReceipt": "MII…"}}
/// ```
///
/// `additionalData.applicationUsername` is not read: anyone who has the app can send any name.
struct ValidateRequestBody: Sendable {
    /// The app that the request names; nil if it names a product.
    private(set) var bundleID: String?
    private(set) var evidence = PluginEvidence.receipt(.decoded([]))
    /// The member that the evidence was in.
    private(set) var evidenceField = TransactionMember.receipt

    enum Member: String {
        case id, type, transaction
    }

    enum TransactionMember: String {
        case type
        case receipt = "appStoreReceipt"
        case jws = "jwsRepresentation"
    }

    init(decoding bytes: Span<UInt8>) throws(JSONFault) {
        var reader = JSONReader(bytes), body = PluginBody()
        var id: String?, type: String?, transaction: Transaction?
        try reader.beginObject()
        while let member: Member = try body.next(in: &reader) {
            do throws(JSONFault) {
                switch member {
                case .id: id = try body.text(from: &reader)
                case .type: type = try body.text(from: &reader)
                case .transaction: transaction = try Transaction(from: &reader, of: &body)
                }
            } catch {
                throw error.inField(member.rawValue)
            }
        }
        try reader.endDocument()
        guard let transaction else {
            throw JSONFault(.missingField, field: Member.transaction.rawValue, at: reader.position)
        }
        (evidence, evidenceField) = try transaction.evidence()
        // A plugin that failed to read the app's identifier sends an empty text.
        if type == "application", id?.isEmpty == false { bundleID = id }
    }

    /// The object that has the evidence.
    private struct Transaction {
        private let start: Int
        private var type: String?
        private var receipt: Base64Text?
        private var jws: JSONText?

        init(from reader: inout JSONReader, of body: inout PluginBody) throws(JSONFault) {
            start = reader.position
            try reader.beginMemberObject()
            while let member: TransactionMember = try body.next(in: &reader) {
                do throws(JSONFault) {
                    if try body.skipsNull(in: &reader) { continue }
                    switch member {
                    case .type: type = try body.text(from: &reader)
                    case .receipt: receipt = try reader.base64(unless: JSONText.mayBeJWS)
                    case .jws: jws = try reader.string()
                    }
                } catch {
                    throw error.inField(member.rawValue)
                }
            }
        }

        func evidence() throws(JSONFault) -> (PluginEvidence, TransactionMember) {
            switch type {
            case "ios-appstore":
                guard let receipt else { throw fault(.missingField, .receipt) }
                return (.receipt(receipt), .receipt)
            case "apple-sk2":
                guard let jws else { throw fault(.missingField, .jws) }
                return (.jws(jws), .jws)
            case nil: throw fault(.missingField, .type)
            case _?: throw fault(.notAccepted(#""ios-appstore" or "apple-sk2""#), .type)
            }
        }

        private func fault(_ rule: JSONFault.Rule, _ member: TransactionMember) -> JSONFault {
            JSONFault(rule, field: member.rawValue, at: start)
        }
    }
}
