// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Gateway
internal import JSON
internal import Receipts
internal import Redis

/// The stored form of a chain in the index of an account.
struct StoredAccountChain: StoredForm {
    private(set) var chain: PurchaseChain

    init(_ chain: PurchaseChain) { self.chain = chain }

    /// - Parameter bundleID: the app of the key.
    init(storedBytes: [UInt8], bundleID: String) throws(StoredFormFault) {
        chain = PurchaseChain(bundleID: bundleID, environment: .production, originalTransactionID: "")
        try read(storedBytes)
    }

    /// Visits all fields but the app.
    mutating func visitForm<Form: StoredFormVisitor>(_ form: inout Form) throws(Form.Failure) {
        var environment: Environment? = chain.environment, id = chain.originalTransactionID
        try form.version(1)
        try form.word("environment", &environment)
        try form.text(&id)
        guard let environment else { return try form.invalid("environment") }
        chain = PurchaseChain(bundleID: chain.bundleID, environment: environment, originalTransactionID: id)
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
            let chain = try? StoredAccountChain(storedBytes: bytes, bundleID: bundleID).chain
        else { return nil }
        (self.usedAt, self.chain) = (usedAt, chain)
    }
}
