// SPDX-License-Identifier: Apache-2.0

/// The random purchases of one customer in one app: a subscription with its renewals, and single items.
struct PurchaseHistory {
    let bundleID: String
    let plan: SubscriptionPlan
    /// The date of the receipt; all purchases are earlier.
    let creationDate: UTCDate
    private var generator: SplitMix64
    private var nextTransactionNumber: Int64

    init(bundleID: String, creationDate: UTCDate, using generator: inout SplitMix64) {
        self.bundleID = bundleID
        self.creationDate = creationDate
        plan = .random(bundleID: bundleID, using: &generator)
        // Sandbox transaction identifiers have 16 digits and begin with 2.
        nextTransactionNumber = 2_000_000_000_000_000 + generator.number(in: 1...900_000_000)
        self.generator = SplitMix64(seed: generator.next())
    }

    /// Returns `count` purchases, oldest subscription period first, single items last.
    mutating func purchases(_ count: Int) -> [PurchaseContents] {
        guard count > 0 else { return [] }
        let items = Int(generator.number(in: 0...Int64(count - 1) / 3))
        let periods = subscription(periods: count - items)
        return periods + (0..<items).map { _ in singleItem() }
    }

    /// Returns periods of the plan back to back. Two in three customers are still subscribed at the receipt's date.
    private mutating func subscription(periods: Int) -> [PurchaseContents] {
        let lapsedPeriods = generator.chance(percent: 65) ? 0 : generator.number(in: 1...6)
        let elapsed = generator.number(in: 0...plan.days * 86_400 - 1)
        let age = (Int64(periods - 1) + lapsedPeriods) * plan.days
        let start = creationDate.advanced(byDays: -age).advanced(bySeconds: -elapsed)
        var first: PurchaseContents?
        return (0..<periods).map { period in
            let purchase = renewal(of: first, from: start.advanced(byDays: Int64(period) * plan.days))
            first = first ?? purchase
            return purchase
        }
    }

    private mutating func renewal(of first: PurchaseContents?, from date: UTCDate) -> PurchaseContents {
        var purchase = PurchaseContents(
            productID: plan.productID, transactionID: nextTransactionID(), purchaseDate: date)
        purchase.originalTransactionID = first?.transactionID ?? purchase.transactionID
        purchase.originalPurchaseDate = first?.purchaseDate ?? date
        purchase.expiresDate = date.advanced(byDays: plan.days)
        purchase.webOrderLineItemID = generator.number(in: 2_000_000_000_000_000...2_000_000_099_999_999)
        first == nil ? open(&purchase) : amend(&purchase)
        return purchase
    }

    /// Makes the first period free or cheaper, in part of the draws.
    private mutating func open(_ purchase: inout PurchaseContents) {
        purchase.isTrialPeriod = generator.chance(percent: 30)
        purchase.isInIntroOfferPeriod = purchase.isTrialPeriod == false && generator.chance(percent: 20)
    }

    /// Discounts or refunds a renewal, in part of the draws.
    private mutating func amend(_ purchase: inout PurchaseContents) {
        if generator.chance(percent: 5) {
            purchase.promotionalOfferID = generator.element(of: Vocabulary.promotionalOffers)
        }
        guard generator.chance(percent: 5) else { return }
        purchase.cancellationDate = min(creationDate, purchase.purchaseDate.advanced(byDays: plan.days / 2))
        purchase.cancellationReason = generator.element(of: PurchaseContents.CancellationReason.allCases)
    }

    private mutating func singleItem() -> PurchaseContents {
        let date = creationDate.advanced(bySeconds: -generator.number(in: 60...500 * 86_400))
        let name = generator.element(of: Vocabulary.singleItems)
        var purchase = PurchaseContents(
            productID: "\(bundleID).\(name)", transactionID: nextTransactionID(), purchaseDate: date)
        purchase.productType = generator.element(of: [.nonConsumable, .consumable, .nonRenewingSubscription])
        purchase.quantity = purchase.productType == .consumable ? generator.number(in: 1...10) : 1
        return purchase
    }

    private mutating func nextTransactionID() -> String {
        nextTransactionNumber += generator.number(in: 1...9_999)
        return String(nextTransactionNumber)
    }
}

/// An auto-renewable product and the length of one period.
struct SubscriptionPlan: Sendable {
    let productID: String
    let days: Int64

    private static let periods: [(name: String, days: Int64)] = [
        ("weekly", 7), ("monthly", 30), ("quarterly", 91), ("yearly", 365),
    ]

    static func random(bundleID: String, using generator: inout SplitMix64) -> SubscriptionPlan {
        let tier = generator.element(of: Vocabulary.tiers)
        let period = generator.element(of: periods)
        return SubscriptionPlan(productID: "\(bundleID).\(tier).\(period.name)", days: period.days)
    }
}

/// Words for the random names of apps and products.
enum Vocabulary {
    static let vendors = ["example", "acme", "northwind", "lumen", "birchwood", "kestrel", "papertrail", "halcyon"]
    static let apps = ["notes", "weather", "runner", "chess", "recipes", "budget", "sketch", "podcasts", "atlas"]
    static let editions = ["", ".pro", ".hd", ".lite", ".go"]
    static let tiers = ["premium", "plus", "pro", "unlimited", "family"]
    static let singleItems = ["lifetime", "coins.500", "gems.1200", "theme.dark", "export.pdf", "seasonpass"]
    static let promotionalOffers = ["winback.half", "spring.offer", "loyal.three.months"]
}

extension ReceiptContents {
    /// Creates a random sandbox receipt with this many purchases: a subscription (active or expired, with trial,
    /// introductory and promotional periods, and refunds) and single items.
    ///
    /// - Parameters:
    ///   - generator: the only source of randomness; its state determines the receipt.
    ///   - deadline: the end of the two years in which the receipt is issued.
    package static func random(
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

extension TransactionContents {
    /// Returns a renewal with a random number; all belong to one subscription.
    package static func random(using generator: inout SplitMix64) -> TransactionContents {
        var contents = TransactionContents()
        contents.transactionID = "\(generator.number(in: 2_000_000_000_000_000...2_999_999_999_999_999))"
        return contents
    }
}

extension TransactionReceiptContents {
    /// Returns a renewal with a random number.
    package static func random(using generator: inout SplitMix64) -> TransactionReceiptContents {
        var contents = TransactionReceiptContents.faultSample
        contents.transactionID = "\(generator.number(in: 1_000_000_000_000_000...1_999_999_999_999_999))"
        return contents
    }
}
