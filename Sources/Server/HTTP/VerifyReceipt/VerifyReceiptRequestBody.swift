// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Gateway
internal import JSON

/// What callers of Apple's `verifyReceipt` send (Apple, "requestBody"). Read as Apple reads it: members it does not know
/// are passed over.
struct VerifyReceiptRequestBody: Hashable, Sendable {
    /// `receipt-data`: base64, left where it stands in the body.
    var receipt: JSONText
    /// `password`: the app's shared secret.
    var secret: SharedSecret?
    /// `exclude-old-transactions`: only the latest transaction of each subscription.
    var excludesOldTransactions = false

    /// The longest of what is read.
    enum Limits {
        /// Apple's secrets are 32 hexadecimal digits.
        static let secretBytes = 256
        /// Arrays and objects inside one another, in members that are passed over.
        static let depth = 16
        /// The name of a member.
        static let nameBytes = 256
    }
}

extension VerifyReceiptRequestBody {
    /// Reads a body from front to back, once. Of two members with one name the last counts, as with Apple.
    init(decoding bytes: Span<UInt8>) throws(JSONFault) {
        var reader = JSONReader(bytes)
        var receipt: JSONText?
        self.init(receipt: JSONText(range: 0..<0, isEscaped: false))
        try reader.beginObject()
        while let key = try reader.nextKey() {
            let name = try reader.value(of: key, maximumBytes: Limits.nameBytes)
            do throws(JSONFault) {
                switch name {
                case "receipt-data": receipt = try reader.string()
                case "password": secret = try reader.secret()
                case "exclude-old-transactions": excludesOldTransactions = try reader.boolean()
                default: try reader.skipValue(maximumDepth: Limits.depth)
                }
            } catch {
                throw error.inField(String(name.prefix(64)))
            }
        }
        try reader.endDocument()
        guard let receipt else { throw JSONFault(.missingField, field: "receipt-data", at: reader.position) }
        self.receipt = receipt
    }
}

extension JSONReader {
    /// An empty secret is none.
    fileprivate mutating func secret() throws(JSONFault) -> SharedSecret? {
        guard try nextType() == .string else {
            try skipValue(maximumDepth: 0)
            return nil
        }
        let text = try value(of: try string(), maximumBytes: VerifyReceiptRequestBody.Limits.secretBytes)
        return text.isEmpty ? nil : SharedSecret(text)
    }
}
