// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

extension ReceiptContents {
    /// Creates a random sandbox receipt with this many purchases: a subscription (active or expired, with trial,
    /// introductory and promotional periods, and refunds) and single items.
    ///
    /// - Parameters:
    ///   - generator: the only source of randomness; its state determines the receipt.
    ///   - deadline: the end of the two years in which the receipt is issued.
    public static func random(
        using generator: inout SplitMix64, purchases: Int, issuedBefore deadline: UTCDate = Corpus.issuedBefore
    ) -> ReceiptContents {
        let bundleID = randomBundleID(using: &generator)
        let creationDate = deadline.advanced(bySeconds: -generator.number(in: 1...2 * 365 * 86_400))
        var contents = ReceiptContents(bundleID: bundleID, creationDate: creationDate)
        var history = PurchaseHistory(bundleID: bundleID, creationDate: creationDate, using: &generator)
        contents.purchases = history.purchases(purchases)
        contents.applicationVersion = String(generator.number(in: 1...4_000))
        contents.fillOpaqueValues(using: &generator)
        return contents
    }

    private static func randomBundleID(using generator: inout SplitMix64) -> String {
        let vendor = generator.element(of: Vocabulary.vendors)
        let app = generator.element(of: Vocabulary.apps)
        return "com.\(vendor).\(app)" + generator.element(of: Vocabulary.editions)
    }

    /// Draws the opaque values; genuine values of attributes 6 and 7 have 40 to 64 bytes.
    private mutating func fillOpaqueValues(using generator: inout SplitMix64) {
        opaqueValue = generator.bytes(count: 16)
        deviceIdentifier = generator.bytes(count: 16)
        opaque6 = generator.bytes(count: Int(generator.number(in: 40...64)))
        opaque7 = generator.bytes(count: Int(generator.number(in: 40...64)))
    }
}
