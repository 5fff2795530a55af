// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Gateway
internal import JSON
internal import Receipts
internal import Redis

/// The stored form of a chain in the index of an account, before encryption:
///
/// ```
/// 1 byte   version of the form, 1
/// text     environment
/// text     original transaction ID
/// ```
/// The app is the key's app.
extension PurchaseChain {
    private static let storedForm: UInt8 = 1

    var storedBytes: [UInt8] {
        var fields = StoredFieldWriter()
        fields.write(Self.storedForm)
        fields.write(Optional(environment.rawValue))
        fields.write(Optional(originalTransactionID))
        return fields.bytes
    }

    init(storedBytes: [UInt8], bundleID: String) throws(SharedCacheFault) {
        var fields = StoredFieldReader(storedBytes)
        guard try fields.byte() == Self.storedForm else { throw .unreadable }
        var environment = "", originalTransactionID = ""
        try fields.required("environment", &environment)
        try fields.required("original_transaction_id", &originalTransactionID)
        guard let environment = Environment(rawValue: environment), fields.isAtEnd else { throw .unreadable }
        self.init(bundleID: bundleID, environment: environment, originalTransactionID: originalTransactionID)
    }
}

/// A chain in the index of an account.
struct IndexedChain {
    /// The time of its last use, in milliseconds since 1970.
    let usedAt: Int64
    let chain: PurchaseChain

    /// Returns nil for an entry that cannot be decrypted or read.
    /// - Parameter value: the time as digits, a space, and the encrypted form.
    init?(_ name: [UInt8], _ value: [UInt8], of keys: AccountKeys, _ seal: StoreSeal, bundleID: String) {
        let digits = value.prefix { $0 != UInt8(ascii: " ") }
        guard let name = String(outside: name), let usedAt = Int64(stored: digits),
            let bytes = try? seal.open(Array(value.dropFirst(digits.count + 1)), for: keys.sealedName(name)),
            let chain = try? PurchaseChain(storedBytes: bytes, bundleID: bundleID)
        else { return nil }
        (self.usedAt, self.chain) = (usedAt, chain)
    }
}
