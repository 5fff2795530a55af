// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import ReceiptForge
internal import Receipts

/// A large receipt in a folder, for a process that has minted nothing itself.
struct MemorySample {
    /// The folder's path.
    let folder: String

    /// The receipt's base64 text.
    var receipt: String { folder + "/receipt.b64" }
    /// The base64 text of a receipt with one purchase.
    var smallReceipt: String { folder + "/small.b64" }
    /// The root that signed both.
    var root: String { folder + "/root.pem" }

    /// Mints a receipt of about so many bytes and writes it to the folder. It holds purchases, not filling, because
    /// purchases are what takes memory beside the receipt itself.
    func write(byteCount: Int, seed: UInt64) throws {
        let pki = ForgedPKI(seed: seed)
        let (small, large) = Self.contents(byteCount: byteCount, signedBy: pki, seed: seed)
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try write(pki.rootPEM, to: root)
        try write(ForgedEvidence.der(pki.sign(small)).base64, to: smallReceipt)
        try write(ForgedEvidence.der(pki.sign(large)).base64, to: receipt)
    }

    private func write(_ text: String, to path: String) throws {
        try Data(text.utf8).write(to: URL(filePath: path))
    }

    /// Removes the folder.
    func remove() {
        try? FileManager.default.removeItem(atPath: folder)
    }

    private static func contents(
        byteCount: Int, signedBy pki: ForgedPKI, seed: UInt64
    ) -> (small: ReceiptContents, large: ReceiptContents) {
        var generator = SplitMix64(seed: seed, purpose: "memory")
        // Ten purchases are repeated; thousands in a row would reach back before the calendar.
        var small = ReceiptContents.random(using: &generator, purchases: 10)
        let purchases = small.purchases
        var large = small
        small.purchases = [purchases[0]]
        let fixed = pki.sign(small).count
        let perPurchase = max(1, (pki.sign(large).count - fixed) / (purchases.count - 1))
        let count = min(Limits().maximumPurchases, max(1, 1 + (byteCount - fixed) / perPurchase))
        large.purchases = (0..<count).map { purchases[$0 % purchases.count] }
        return (small, large)
    }
}
