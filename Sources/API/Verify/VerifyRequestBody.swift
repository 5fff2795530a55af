// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Gateway
internal import HTTPServer
internal import HTTPTypes
internal import JSON
internal import Receipts

/// The JSON body of `POST /v1/verify`. Every fault names the field, the broken rule and the position.
struct VerifyRequestBody: Sendable {
    /// `receipt`, the signed transactions, which are left in the body, or an ID.
    private(set) var subject = SubjectTexts.receipt(.decoded([]))
    /// `device_identifier`: the expected device, as sent.
    private(set) var deviceIdentifier: JSONText?
    /// The other fields.
    private(set) var options = VerificationOptions()
    private var fields = SubjectFields()

    /// The subject of a body: exactly one of these.
    enum SubjectTexts: Sendable {
        /// An ID instead of evidence.
        case transactionID(String)
        /// The base64 of an app receipt or a transaction receipt, or one JWS.
        case receipt(Base64Text)
        case signedTransactions(SignedTexts)
    }

    /// The texts of JWS.
    struct SignedTexts: Sendable {
        var transactions: [JSONText]
        var renewalInfos: [JSONText] = []
        var appTransaction: JSONText?
        var acceptsPart = false
    }

    /// The names of the fields in JSON.
    enum Field: String, CaseIterable, Hashable, Sendable {
        case receipt
        case signedTransactions = "signed_transactions"
        case signedRenewalInfos = "signed_renewal_infos"
        case appTransaction = "app_transaction"
        case partial
        case transactionID = "transaction_id"
        case bundleID = "bundle_id"
        case mode
        case maximumAge = "max_age"
        case excludesOldTransactions = "exclude_old_transactions"
        case latestReceipt = "latest_receipt"
        case include
        case appVersion = "app_version"
        case deviceIdentifier = "device_identifier"
        case account
    }

    enum Limits {
        /// The maximum bytes of a text; Apple's bundle identifiers and versions stay far below this.
        static let textBytes = 256
        /// A year, in seconds; the gateway keeps nothing longer.
        static let maximumAgeSeconds: Int64 = 31_536_000
        /// The maximum number of transactions in one request, and of renewal infos.
        static let signedItems = 200
    }
}

/// The fields of a body that hold its subject, as far as they were read.
private struct SubjectFields: Sendable {
    var receipt: Base64Text?
    var transactions: [JSONText]?
    var renewalInfos: [JSONText]?
    var appTransaction: JSONText?
    var partial: Bool?
    var transactionID: String?

    private static let otherForms = #"or "signed_transactions", or "transaction_id""#

    /// - Parameter seen: the fields of the body.
    /// - Throws: `JSONFault` unless there is a subject of exactly one kind, with the fields that belong to it.
    func subject(
        among seen: Set<VerifyRequestBody.Field>, at position: Int
    ) throws(JSONFault) -> VerifyRequestBody.SubjectTexts {
        if let transactionID {
            for field in VerifyRequestBody.Field.ofEvidence where seen.contains(field) {
                throw fault(.notAccepted("absent beside \"transaction_id\""), field, at: position)
            }
            return .transactionID(transactionID)
        }
        guard let transactions else {
            guard let receipt else { throw fault(.missingAlternative(Self.otherForms), .receipt, at: position) }
            try checkReceiptIsAlone(at: position)
            return .receipt(receipt)
        }
        guard receipt == nil else {
            throw fault(.notAccepted("absent beside \"signed_transactions\""), .receipt, at: position)
        }
        guard !transactions.isEmpty || appTransaction != nil else {
            throw fault(
                .notAccepted("a list of at least one signed transaction, unless \"app_transaction\" is sent"),
                .signedTransactions, at: position)
        }
        return .signedTransactions(
            VerifyRequestBody.SignedTexts(
                transactions: transactions, renewalInfos: renewalInfos ?? [], appTransaction: appTransaction,
                acceptsPart: partial ?? false))
    }

    private func checkReceiptIsAlone(at position: Int) throws(JSONFault) {
        let others: [(VerifyRequestBody.Field, Bool)] = [
            (.signedRenewalInfos, renewalInfos != nil), (.appTransaction, appTransaction != nil),
            (.partial, partial != nil),
        ]
        for (field, isPresent) in others where isPresent {
            throw fault(.notAccepted("sent together with \"signed_transactions\""), field, at: position)
        }
    }

    private func fault(
        _ rule: JSONFault.Rule, _ field: VerifyRequestBody.Field, at position: Int
    ) -> JSONFault {
        JSONFault(rule, field: field.rawValue, at: position)
    }
}

extension VerifyRequestBody.Field {
    /// The fields that say something about evidence.
    fileprivate static let ofEvidence: [Self] = [
        .receipt, .signedTransactions, .signedRenewalInfos, .appTransaction, .partial, .latestReceipt, .appVersion,
        .deviceIdentifier,
    ]
}

// MARK: - Decoding

extension VerifyRequestBody {
    /// Reads a body in one pass.
    init(decoding bytes: Span<UInt8>) throws(JSONFault) {
        var reader = JSONReader(bytes)
        var seen: Set<Field> = []
        try reader.beginObject()
        while let key = try reader.nextKey() {
            let field = try Self.field(named: key, in: reader)
            do throws(JSONFault) {
                let isFirst = seen.insert(field).inserted
                guard isFirst else { throw JSONFault(.duplicateField, at: key.range.lowerBound) }
                try read(field, from: &reader)
            } catch {
                throw error.inField(field.rawValue)
            }
        }
        try reader.endDocument()
        subject = try fields.subject(among: seen, at: reader.position)
        if case .transactionID = subject, options.expectations.bundleID?.isBundleID == false {
            throw JSONFault(.notAccepted("a bundle ID"), field: Field.bundleID.rawValue, at: reader.position)
        }
    }

    private static func field(named key: JSONText, in reader: borrowing JSONReader) throws(JSONFault) -> Field {
        let name = try reader.value(of: key, maximumBytes: Limits.textBytes)
        guard let field = Field(rawValue: name) else {
            let meant = misnamed[name].map { JSONFault.Rule.misnamedField(meant: $0.rawValue) }
            throw JSONFault(meant ?? .unknownField, field: String(name.prefix(64)), at: key.range.lowerBound)
        }
        return field
    }

    /// The names that other interfaces have for a field.
    private static let misnamed: [String: Field] = [
        "receipt-data": .receipt, "receipt_data": .receipt, "receiptData": .receipt,
        "exclude-old-transactions": .excludesOldTransactions, "signedTransactions": .signedTransactions,
        "signedTransactionInfo": .signedTransactions, "signed_transaction": .signedTransactions,
        "signedRenewalInfo": .signedRenewalInfos, "signedAppTransactionInfo": .appTransaction,
        "transactionId": .transactionID, "bundleId": .bundleID, "appAccountToken": .account,
    ]

    private mutating func read(_ field: Field, from reader: inout JSONReader) throws(JSONFault) {
        switch field {
        case .receipt: fields.receipt = try reader.base64(unless: JSONText.mayBeJWS)
        case .signedTransactions: fields.transactions = try reader.strings(maximumCount: Limits.signedItems)
        case .signedRenewalInfos: fields.renewalInfos = try reader.strings(maximumCount: Limits.signedItems)
        case .appTransaction: fields.appTransaction = try reader.string()
        case .partial: fields.partial = try reader.boolean()
        case .transactionID: fields.transactionID = try reader.transactionID()
        case .bundleID: options.expectations.bundleID = try reader.shortText()
        case .mode: options.mode = try reader.mode()
        case .maximumAge: options.maximumAge = try reader.age()
        case .excludesOldTransactions: options.excludesOldTransactions = try reader.boolean()
        case .latestReceipt: options.wantsLatestReceipt = try reader.boolean()
        case .include: options.includesUnknown = try reader.includesUnknown()
        case .appVersion: options.expectations.applicationVersion = try reader.shortText()
        case .deviceIdentifier: deviceIdentifier = try reader.shortString()
        case .account: options.account = try reader.account()
        }
    }
}

extension JSONReader {
    fileprivate mutating func shortText() throws(JSONFault) -> String {
        let start = position
        let text = try value(of: try string(), maximumBytes: VerifyRequestBody.Limits.textBytes)
        if text.isEmpty { throw JSONFault(.notAccepted("a non-empty text"), at: start) }
        return text
    }

    fileprivate mutating func transactionID() throws(JSONFault) -> String {
        let start = position
        let id = try shortText()
        guard id.isTransactionID else { throw JSONFault(.notAccepted(TransactionIDForm.description), at: start) }
        return id
    }

    /// Reads a string within the length of texts, and leaves it in the body.
    fileprivate mutating func shortString() throws(JSONFault) -> JSONText {
        let start = position
        let text = try string()
        guard text.range.count <= VerifyRequestBody.Limits.textBytes else {
            throw JSONFault(.notAccepted("at most \(VerifyRequestBody.Limits.textBytes) bytes long"), at: start)
        }
        return text
    }

    fileprivate mutating func account() throws(JSONFault) -> Account {
        let start = position
        let text = try value(of: try string(), maximumBytes: Account.Limits.bytes)
        guard let account = Account(text) else {
            throw JSONFault(.notAccepted("1 to \(Account.Limits.bytes) bytes long"), at: start)
        }
        return account
    }

    /// Reads a list that may have one name.
    fileprivate mutating func includesUnknown() throws(JSONFault) -> Bool {
        let start = position
        let names = try strings(maximumCount: 1)
        for name in names where try value(of: name, maximumBytes: VerifyRequestBody.Limits.textBytes) != "unknown" {
            throw JSONFault(.notAccepted("[\"unknown\"] or []"), at: start)
        }
        return !names.isEmpty
    }

    fileprivate mutating func mode() throws(JSONFault) -> Mode {
        let start = position
        guard let mode = Mode(rawValue: try shortText()), mode != .appleFirst else {
            throw JSONFault(.notAccepted("\"auto\", \"local\" or \"apple\""), at: start)
        }
        return mode
    }

    fileprivate mutating func age() throws(JSONFault) -> Duration {
        let start = position
        let range = 0...VerifyRequestBody.Limits.maximumAgeSeconds
        let seconds = try integer()
        guard range.contains(seconds) else {
            throw JSONFault(.notAccepted("between 0 and \(range.upperBound) seconds"), at: start)
        }
        return .seconds(seconds)
    }
}

extension Problem {
    /// Creates the problem for a fault in a field. A position in its text counts inside the field.
    /// - Parameter error: its description is the rest of a sentence about the field.
    init(_ error: any Error, _ fault: String, in field: VerifyRequestBody.Field) {
        self.init(.badRequest, .invalidBody, "\"\(field.rawValue)\" \(error)")
        (self.field, self.fault) = (field.rawValue, fault)
    }
}
