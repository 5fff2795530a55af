// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import ReceiptForge

/// Makes the receipts of a run, in parallel. Everything but the dates of receipts that are about to expire follows from
/// the seed.
struct ReceiptFactory: Sendable {
    private let pki: ForgedPKI
    private let form: RequestForm
    private let seed: UInt64
    private let receiptType: String?
    private(set) var purchases = 0

    /// Chooses the number of purchases for bodies of about `bodyBytes`. Receipts have `receiptType` instead of a random
    /// type.
    init(_ pki: ForgedPKI, seed: UInt64, form: RequestForm, bodyBytes: Int, receiptType: String? = nil) {
        (self.pki, self.form, self.seed, self.receiptType) = (pki, form, seed, receiptType)
        let none = receipt("size", purchases: 0).utf8.count, some = receipt("size", purchases: 16).utf8.count
        let wanted = Double(bodyBytes - form.bodyOverhead - none) / (Double(some - none) / 16)
        purchases = max(0, min(Self.maximumPurchases, Int(wanted.rounded())))
    }

    /// With yearly periods, more would reach back beyond the Middle Ages.
    private static let maximumPurchases = 1000

    func repeated(_ count: Int, made: (Int) -> Void) async -> [PooledRequest] {
        await make(count, made) { [self] in receipt("load \($0)", purchases: purchases) }
    }

    /// Makes receipts that are sent once, from the receipt with number `first` on.
    func fresh(_ count: Int, from first: Int = 0, made: (Int) -> Void) async -> [PooledRequest] {
        await make(count, made) { [self] in receipt("fresh \(first + $0)", purchases: purchases) }
    }

    /// Makes receipts whose last subscription ends in the seconds after a moment, evenly spread.
    func nearExpiry(_ count: Int, after moment: Date, seconds: Double, made: (Int) -> Void) async -> [PooledRequest] {
        await make(count, made) { [self] number in
            let end = moment.addingTimeInterval(seconds * Double(number + 1) / Double(count))
            return expiring(number, at: UTCDate(secondsSince1970: Int64(end.timeIntervalSince1970)))
        }
    }

    private func make(
        _ count: Int, _ made: (Int) -> Void, _ receipt: @escaping @Sendable (Int) -> String
    ) async -> [PooledRequest] {
        await .madeInParallel(count, progress: made) { [form] in PooledRequest(receipt($0), form) }
    }

    private func receipt(_ purpose: String, purchases: Int) -> String {
        var generator = SplitMix64(seed: seed, purpose: purpose)
        var contents = ReceiptContents.random(using: &generator, purchases: purchases)
        if let receiptType { contents.receiptType = receiptType }
        return ForgedEvidence.der(pki.sign(contents)).base64
    }

    private func expiring(_ number: Int, at end: UTCDate) -> String {
        var generator = SplitMix64(seed: seed, purpose: "near-expiry \(number)")
        // Issued a day before, when the subscription was active.
        let issued = end.advanced(byDays: -1)
        var contents = ReceiptContents.random(using: &generator, purchases: max(1, purchases))
        contents.creationDate = issued
        contents.purchases[0].purchaseDate = end.advanced(byDays: -30)
        contents.purchases[0].originalPurchaseDate = end.advanced(byDays: -30)
        contents.purchases[0].expiresDate = end
        contents.purchases[0].cancellationDate = nil
        contents.purchases[0].cancellationReason = nil
        return ForgedEvidence.der(pki.sign(contents)).base64
    }
}

extension Array where Element: Sendable {
    /// Makes elements on all cores, in their order. `progress` receives the number of elements made so far.
    static func madeInParallel(
        _ count: Int, progress: (Int) -> Void, _ make: @escaping @Sendable (Int) -> Element
    ) async -> [Element] {
        var all: [Element] = []
        all.reserveCapacity(count)
        // A chunk is work for a few hundredths of a second. A few chunks at a time: progress waits for the same threads as
        // the work.
        let chunk = 32, batch = chunk * ProcessInfo.processInfo.activeProcessorCount
        for start in stride(from: 0, to: count, by: batch) {
            let starts = stride(from: start, to: Swift.min(count, start + batch), by: chunk)
            all += await withTaskGroup { group in
                for first in starts {
                    group.addTask { (first, (first..<Swift.min(count, first + chunk)).map(make)) }
                }
                let made = await group.reduce(into: [Int: [Element]]()) { $0[$1.0] = $1.1 }
                return starts.flatMap { made[$0] ?? [] }
            }
            progress(all.count)
        }
        return all
    }
}
