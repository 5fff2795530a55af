// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Receipts

/// Measures what one large receipt takes, in a process that has done nothing else: memory that was used before and
/// given back to the allocator would hide what is used now.
struct MemoryProbe {
    let sample: MemorySample

    func measure() throws -> MemoryReport {
        let verifier = try verifier()
        // OpenSSL is loaded and the chain remembered once per process, not once per receipt.
        _ = try verify(ByteFile(path: sample.smallReceipt).contents(), with: verifier)
        let text = try ByteFile(path: sample.receipt).contents()
        let before = try ProcessMemory.current()
        let receipt = try verify(text, with: verifier)
        let after = try ProcessMemory.current()
        return MemoryReport(
            bytes: text.count / 4 * 3 - text.count { $0 == UInt8(ascii: "=") }, base64Bytes: text.count,
            purchases: receipt.purchases.count, peakBytes: max(0, after.peak - before.resident))
    }

    private func verifier() throws -> ReceiptVerifier {
        let pem = String(decoding: try ByteFile(path: sample.root).contents(), as: UTF8.self)
        var trustStore = TrustStore(anchors: [])
        try trustStore.add(pem: pem, environments: [.sandbox])
        return ReceiptVerifier(trustStore: trustStore)
    }

    private func verify(_ text: [UInt8], with verifier: ReceiptVerifier) throws -> VerifiedReceipt {
        try verifier.verify(Base64.decode(text.span), at: .samplesAreOlder)
    }
}
