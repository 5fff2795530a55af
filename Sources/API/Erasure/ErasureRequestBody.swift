// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Customers
internal import Gateway
internal import JSON

/// The JSON body of `POST /v1/erasures`.
struct ErasureRequestBody: Sendable {
    enum Field: String, CaseIterable {
        case bundleID = "bundle_id"
        case account
        case originalTransactionIDs = "original_transaction_ids"
    }

    enum Limits {
        /// The bytes of a text.
        static let textBytes = 256
    }

    private(set) var bundleID = ""
    private(set) var account: Account?
    /// Empty if only the account is named.
    private(set) var originalTransactionIDs: [String] = []

    init(decoding bytes: Span<UInt8>) throws(JSONFault) {
        var reader = JSONReader(bytes), seen: Set<Field> = []
        try reader.beginObject()
        while let key = try reader.nextKey() {
            let name = try reader.value(of: key, maximumBytes: Limits.textBytes)
            guard let field = Field(rawValue: name) else {
                throw JSONFault(.unknownField, field: String(name.prefix(64)), at: key.range.lowerBound)
            }
            guard seen.insert(field).inserted else {
                throw JSONFault(.duplicateField, field: name, at: key.range.lowerBound)
            }
            do throws(JSONFault) {
                try read(field, from: &reader)
            } catch {
                throw error.inField(name)
            }
        }
        try reader.endDocument()
        guard seen.contains(.bundleID) else {
            throw JSONFault(.missingField, field: Field.bundleID.rawValue, at: reader.position)
        }
        guard account != nil || !originalTransactionIDs.isEmpty else {
            let expected = "a list of at least one ID, unless \"\(Field.account.rawValue)\" is sent"
            throw JSONFault(
                .notAccepted(expected), field: Field.originalTransactionIDs.rawValue, at: reader.position)
        }
    }

    private mutating func read(_ field: Field, from reader: inout JSONReader) throws(JSONFault) {
        let start = reader.position
        switch field {
        case .bundleID:
            bundleID = try reader.value(of: try reader.string(), maximumBytes: Limits.textBytes)
            guard bundleID.isBundleID else { throw JSONFault(.notAccepted("a bundle ID"), at: start) }
        case .account:
            account = Account(try reader.value(of: try reader.string(), maximumBytes: Limits.textBytes))
            guard account != nil else {
                throw JSONFault(.notAccepted("1 to \(Account.Limits.bytes) bytes of text"), at: start)
            }
        case .originalTransactionIDs:
            for text in try reader.strings(maximumCount: ErasureSubject.Limits.chains) {
                let id = try reader.value(of: text, maximumBytes: Limits.textBytes)
                guard id.isTransactionID else {
                    throw JSONFault(
                        .notAccepted("a list of IDs of \(TransactionIDForm.description)"), at: text.range.lowerBound)
                }
                originalTransactionIDs.append(id)
            }
        }
    }
}
