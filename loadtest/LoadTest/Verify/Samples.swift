// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import ReceiptForge

/// A receipt to verify, and the parts of it that the crypto floor works on.
///
/// A class, so that handing one to an implementation costs one reference and no more.
final class SampleReceipt: Sendable {
    let der: [UInt8]
    /// The receipt as requests carry it.
    let base64: [UInt8]
    /// The bytes that are signed.
    let content: [UInt8]
    let signature: [UInt8]
    /// The app that a verifier must find.
    let bundleID: String
    /// The number of purchases that a verifier must find.
    let purchases: Int

    /// Takes a receipt apart with OpenSSL, so that the floor depends on no other parser; nil if OpenSSL cannot.
    init?(der: [UInt8], bundleID: String, purchases: Int) {
        guard let message = CMSMessage(der: der), let content = message.content, let signature = message.signature
        else { return nil }
        self.der = der
        base64 = Array(ForgedEvidence.der(der).base64.utf8)
        self.content = content
        self.signature = signature
        self.bundleID = bundleID
        self.purchases = purchases
    }
}

/// Distinct receipts with the same number of purchases, at least one.
struct SampleReceipts: Sendable {
    /// The number of purchases in each.
    let purchases: Int
    let all: [SampleReceipt]

    var meanByteCount: Int { mean(of: \.der.count) }
    var meanBase64ByteCount: Int { mean(of: \.base64.count) }

    private func mean(of size: KeyPath<SampleReceipt, Int>) -> Int {
        all.map { $0[keyPath: size] }.reduce(0, +) / all.count
    }
}

extension SampleReceipts {
    /// Makes receipts; the same seed gives the same ones.
    init(count: Int, purchases: Int, signedBy pki: ForgedPKI, seed: UInt64) throws(SampleError) {
        self.purchases = purchases
        var receipts: [SampleReceipt] = []
        for number in 1...count {
            var generator = SplitMix64(seed: seed, purpose: "\(purchases) purchases, receipt \(number)")
            let contents = ReceiptContents.random(using: &generator, purchases: purchases)
            let receipt = SampleReceipt(
                der: pki.sign(contents), bundleID: contents.bundleID, purchases: contents.purchases.count)
            guard let receipt else { throw SampleError() }
            receipts.append(receipt)
        }
        all = receipts
    }
}

/// OpenSSL does not read the forge's receipts.
struct SampleError: Error, Hashable, CustomStringConvertible {
    var description: String { "OpenSSL cannot read a receipt that was just made; this is a bug, please report it." }
}
