// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Cryptography
internal import JSON
internal import Receipts

/// The body of requests to Apple's `verifyReceipt` (Apple, "requestBody"). Read as Apple reads it: unknown members are
/// skipped.
struct VerifyReceiptRequestBody: Hashable, Sendable {
    /// `receipt-data`, in base64.
    var receipt: Base64Text
    /// `password`: the app's shared secret.
    var secret: Secret?
    /// `exclude-old-transactions`: only the latest transaction of each subscription.
    var excludesOldTransactions = false

    enum Limits {
        /// The maximum bytes of a secret; Apple's have 32 hexadecimal digits.
        static let secretBytes = 64
        /// Skipped members included.
        static let members = 64
        /// The steps that all skipped members together may take (`JSONReader.work`): about as many bytes of arrays and
        /// objects, or sixteen times as many of plain text.
        static let skippedWork = 64 << 10
        static let depth = 16
        /// The steps that a value in place of a secret may take.
        static let noSecretWork = 64
        static let nameBytes = 256
    }

    /// Reads a body in one pass. Of two members with the same name the last counts, as with Apple.
    init(decoding bytes: Span<UInt8>) throws(JSONFault) {
        var reader = JSONReader(bytes)
        var receipt: Base64Text?
        var memberCount = 0
        var allowance = JSONSkipAllowance(maximumDepth: Limits.depth, maximumWork: Limits.skippedWork)
        try reader.beginObject()
        while let key = try reader.nextKey() {
            memberCount += 1
            guard memberCount <= Limits.members else {
                throw JSONFault(.tooManyValues(maximum: Limits.members), at: reader.position)
            }
            let name = try reader.value(of: key, maximumBytes: Limits.nameBytes)
            do throws(JSONFault) {
                switch name {
                case "receipt-data": receipt = try reader.base64()
                case "password": secret = try reader.secret()
                case "exclude-old-transactions":
                    excludesOldTransactions = try reader.lenientFlag(in: bytes, within: &allowance)
                default: try reader.skipValue(within: &allowance)
                }
            } catch {
                throw Self.names.contains(name) ? error.inField(name) : error
            }
        }
        try reader.endDocument()
        guard let receipt else { throw JSONFault(.missingField, field: "receipt-data", at: reader.position) }
        self.receipt = receipt
    }

    /// The names that faults contain. Any other could be a misplaced secret.
    private static let names = ["receipt-data", "password", "exclude-old-transactions"]
}

extension JSONReader {
    /// Reads a flag of clients that write `true`, `"true"` or 1 for true. Any other value is false.
    fileprivate mutating func lenientFlag(
        in bytes: Span<UInt8>, within allowance: inout JSONSkipAllowance
    ) throws(JSONFault) -> Bool {
        // Without the white space before the value.
        _ = try nextType()
        let start = position
        try skipValue(within: &allowance)
        let value = bytes.extracting(start..<position)
        return value.equals(Array("true".utf8)) || value.equals(Array(#""true""#.utf8)) || value.equals(Array("1".utf8))
    }

    /// Reads a secret; nil if it is empty or of another type. The gateway sends Apple nothing that cannot be a secret.
    fileprivate mutating func secret() throws(JSONFault) -> Secret? {
        let start = position
        guard try nextType() == .string else {
            var allowance = JSONSkipAllowance(
                maximumDepth: 0, maximumWork: VerifyReceiptRequestBody.Limits.noSecretWork)
            try skipValue(within: &allowance)
            return nil
        }
        let text = try value(of: try string(), maximumBytes: VerifyReceiptRequestBody.Limits.secretBytes)
        // Clients send it as they read it from a file.
        let secret = Array(text.utf8).withoutOuterWhiteSpace
        guard secret.allSatisfy({ (0x21...0x7E).contains($0) }), let text = String(outside: secret) else {
            throw JSONFault(.notAccepted("visible ASCII characters"), at: start)
        }
        return text.isEmpty ? nil : Secret(text)
    }
}
