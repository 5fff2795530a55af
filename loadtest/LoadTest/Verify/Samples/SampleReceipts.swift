// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import ReceiptForge

/// Distinct receipts with the same number of purchases.
struct SampleReceipts: Sendable {
    /// How many purchases each of them has.
    let purchases: Int
    /// The receipts; at least one.
    let all: [SampleReceipt]

    /// The size of a receipt on average, in bytes.
    var meanByteCount: Int { mean(of: \.der.count) }

    /// The size of a receipt's base64 text on average, in bytes.
    var meanBase64ByteCount: Int { mean(of: \.base64.count) }

    private func mean(of size: KeyPath<SampleReceipt, Int>) -> Int {
        all.map { $0[keyPath: size] }.reduce(0, +) / all.count
    }
}

extension SampleReceipts {
    /// Mints `count` receipts; the same seed gives the same ones.
    init(count: Int, purchases: Int, signedBy pki: ForgedPKI, seed: UInt64) throws(SampleError) {
        self.purchases = purchases
        var receipts: [SampleReceipt] = []
        for number in 1...count {
            var generator = SplitMix64(seed: seed, purpose: "\(purchases) purchases, receipt \(number)")
            let contents = ReceiptContents.random(using: &generator, purchases: purchases)
            guard let receipt = SampleReceipt(contents, signedBy: pki) else { throw SampleError() }
            receipts.append(receipt)
        }
        all = receipts
    }
}

extension SampleReceipt {
    /// Mints a receipt.
    convenience init?(_ contents: ReceiptContents, signedBy pki: ForgedPKI) {
        self.init(der: pki.sign(contents), bundleID: contents.bundleID, purchases: contents.purchases.count)
    }
}

/// OpenSSL does not read what the forge minted.
struct SampleError: Error, Hashable, CustomStringConvertible {
    var description: String { "OpenSSL cannot read a receipt that was just made; this is a bug, please report it." }
}
