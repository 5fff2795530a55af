// SPDX-License-Identifier: Apache-2.0

internal import ReceiptForge

/// The periods of one subscription, and its renewal.
struct SimulatedSubscription: Hashable, Sendable {
    /// The periods in the order they were bought, at least one period.
    var periods: [SimulatedTransaction]
    var renewal: SimulatedRenewal
    /// The renewals of former products: further elements with the same original transaction.
    private var formerRenewals: [SimulatedRenewal] = []
    let now: UTCDate
    /// Added seconds, by transaction ID.
    private let extensions: [String: Int64]

    /// - Parameters:
    ///   - periods: the periods in the receipt; at least one period, each with an end.
    ///   - start: the beginning of the scenario. Stories are relative to it, so that no call changes them.
    init(
        _ periods: [PurchaseContents], story: Story, extensions: [String: Int64] = [:], start: UTCDate, now: UTCDate
    ) {
        self.periods = periods.sorted { $0.purchaseDate < $1.purchaseDate }.map {
            SimulatedTransaction($0).extended(by: extensions)
        }
        self.extensions = extensions
        self.now = now
        renewal = SimulatedRenewal(of: self.periods[self.periods.count - 1].purchase)
        apply(story, start)
        // The story decides about its products.
        (renewal.productID, renewal.nextProductID) = (newest.purchase.productID, newest.purchase.productID)
        renewal.promotionalOfferID = newest.purchase.promotionalOfferID
        finish()
    }

    /// Creates a subscription as a recorded answer has it.
    /// - Parameters:
    ///   - periods: at least one, each with an end.
    ///   - renewals: the renewals of all its products. Answers before 2017 have none: then the renewal is as in the
    ///     story `as_in_receipt`. The App Store Server API has one renewal for each subscription.
    init(recorded periods: [SimulatedTransaction], renewals: [SimulatedRenewal], now: UTCDate) {
        self.periods = periods.sorted(by: SimulatedTransaction.isEarlierPeriod)
        extensions = [:]
        self.now = now
        let newest = self.periods[self.periods.count - 1].purchase
        renewal = renewals.first { $0.productID == newest.productID } ?? renewals.first ?? SimulatedRenewal(of: newest)
        if renewals.isEmpty { finish() }
    }

    /// Its elements of `pending_renewal_info`.
    var renewals: [SimulatedRenewal] { [renewal] + formerRenewals }

    var newest: SimulatedTransaction { periods[periods.count - 1] }

    var end: UTCDate { newest.purchase.end }

    private mutating func apply(_ story: Story, _ start: UTCDate) {
        switch story {
        case .asInReceipt, .volumePurchase, .ios6Style, .accountDeleted: break
        case .renewed: end > now ? add(periods: 1) : goOn(until: now)
        case .willNotRenew:
            goOn(until: now)
            renewal.isOn = false
        case .inGracePeriod:
            lapse(at: start.advanced(byDays: -1))
            failToCollect(graceDays: 16)
        case .inBillingRetry:
            lapse(at: start.advanced(byDays: -20))
            failToCollect(graceDays: nil)
        case .expired(let intent): expire(intent)
        case .refunded(let reason): changeNewest { $0.refund(at: start.advanced(bySeconds: -3600), reason) }
        case .upgraded(let productID): upgrade(to: productID, at: start.advanced(bySeconds: -3600))
        case .switched(let productID): switchProduct(to: productID, lapsingAt: start.advanced(byDays: -1))
        case .familyShared: for index in periods.indices { periods[index].isFamilyShared = true }
        case .priceIncrease:
            goOn(until: now)
            (renewal.priceConsentStatus, renewal.priceIncreaseStatus) = (0, 0)
        case .offerCode(let name):
            changeNewest { $0.redeem(offerCode: name) }
            renewal.offerCode = name
        }
    }

    /// Marks an ended subscription as cancelled by its customer, unless the story says otherwise.
    private mutating func finish() {
        guard isOver, renewal.expirationIntent == nil else { return }
        renewal.end(1)
    }

    private mutating func expire(_ intent: Int) {
        renewal.isOn = false
        if isOver { renewal.end(intent) }
    }

    private var isOver: Bool { end <= now || newest.purchase.cancellationDate != nil }

    mutating func failToCollect(graceDays: Int64?) {
        guard end <= now else { return }
        renewal.expirationIntent = 2
        renewal.isInBillingRetry = true
        renewal.gracePeriodExpires = graceDays.map { end.advanced(byDays: $0) }
    }
}

extension SimulatedSubscription {
    private var length: Int64 {
        let extra = extensions[newest.purchase.transactionID] ?? 0
        return max(60, end.secondsSince1970 - newest.purchase.purchaseDate.secondsSince1970 - extra)
    }

    /// Adds periods until a period ends after `date`; of many, only the newest.
    private mutating func goOn(until date: UTCDate) {
        guard end <= date else { return }
        add(periods: (date.secondsSince1970 - end.secondsSince1970) / length + 1)
    }

    private mutating func add(periods count: Int64) {
        let (last, end, length) = (newest, end, length)
        var extra: Int64 = 0
        for number in max(1, count - SimulatorLimits().maximumAddedPeriods + 1)...count {
            let start = end.advanced(bySeconds: (number - 1) * length + extra)
            // An extension of an earlier period moved this period beyond the present.
            guard extra == 0 || start <= now else { return }
            let period = last.followed(by: start, lasting: length, number: number)
            extra += extensions[period.purchase.transactionID] ?? 0
            periods.append(period.extended(by: extensions))
        }
    }

    /// Adds one period that ends at `date`, if the subscription ended before.
    private mutating func lapse(at date: UTCDate) {
        let gap = date.secondsSince1970 - end.secondsSince1970
        guard gap > 0 else { return }
        let length = min(gap, length)
        let start = date.advanced(bySeconds: -length)
        periods.append(newest.followed(by: start, lasting: length, number: 1).extended(by: extensions))
    }

    private mutating func upgrade(to productID: String?, at date: UTCDate) {
        goOn(until: date)
        let better = newest.followed(by: upgradeDate(from: date), lasting: length, number: 1)
        replaceNewest(by: better.extended(by: extensions), of: productID)
    }

    /// Returns a date that is later than the purchase of the newest period.
    func upgradeDate(from date: UTCDate) -> UTCDate {
        max(date, newest.purchase.purchaseDate.advanced(bySeconds: 1))
    }

    mutating func replaceNewest(by period: SimulatedTransaction, of productID: String?) {
        var better = period
        better.purchase.productID = productID ?? newest.purchase.productID + ".upgraded"
        changeNewest { period in
            period.isUpgraded = true
            period.purchase.cancellationDate = better.purchase.purchaseDate
        }
        periods.append(better)
    }

    /// Ends the product of the last period, and adds a period of another product whose payment failed.
    private mutating func switchProduct(to productID: String?, lapsingAt date: UTCDate) {
        guard end < date else { return }
        let former = newest.purchase.productID
        lapse(at: date)
        changeNewest { $0.purchase.productID = productID ?? former + ".other" }
        var formerRenewal = renewal
        (formerRenewal.productID, formerRenewal.nextProductID) = (former, former)
        formerRenewal.end(1)
        formerRenewals = [formerRenewal]
        failToCollect(graceDays: 16)
    }

    mutating func changeNewest(_ change: (inout SimulatedTransaction) -> Void) {
        change(&periods[periods.count - 1])
    }
}

extension SimulatedTransaction {
    /// Returns the period with its extension, if it has an extension.
    func extended(by extensions: [String: Int64]) -> SimulatedTransaction {
        guard let extra = extensions[purchase.transactionID] else { return self }
        var period = self
        period.purchase.expiresDate = purchase.expiresDate?.advanced(bySeconds: extra)
        return period
    }

    /// Creates a renewal. Its identifiers follow from its number, so that no call changes them.
    fileprivate func followed(by start: UTCDate, lasting length: Int64, number: Int64) -> SimulatedTransaction {
        let id =
            Int64(purchase.transactionID).map { String($0 &+ 10_000 &* number) }
            ?? "\(purchase.transactionID)-\(number)"
        return followed(by: start, lasting: length, as: id, number: number)
    }

    func followed(by start: UTCDate, lasting length: Int64, as id: String, number: Int64 = 1) -> SimulatedTransaction {
        var next = self
        next.purchase.transactionID = id
        next.purchase.webOrderLineItemID &+= 10_000 &* number
        next.purchase.purchaseDate = start
        next.purchase.expiresDate = start.advanced(bySeconds: length)
        next.purchase.isTrialPeriod = purchase.isTrialPeriod.map { _ in false }
        next.purchase.isInIntroOfferPeriod = purchase.isInIntroOfferPeriod.map { _ in false }
        next.purchase.cancellationDate = nil
        next.purchase.cancellationReason = nil
        next.purchase.promotionalOfferID = nil
        return next
    }
}

/// The renewal state of a subscription: an element of `pending_renewal_info`.
struct SimulatedRenewal: Hashable, Sendable {
    let originalTransactionID: String
    var productID: String
    /// True if the subscription renews automatically.
    var isOn = true
    var nextProductID: String
    /// The reason why the subscription ended, 1 to 5; nil while it runs.
    var expirationIntent: Int?
    /// True while Apple retries the payment; nil while the subscription runs.
    var isInBillingRetry: Bool?
    var gracePeriodExpires: UTCDate?
    /// 0 while the customer has not agreed to a higher price, then 1; nil without an increase.
    var priceConsentStatus: Int?
    var priceIncreaseStatus: Int?
    var offerCode: String?
    var promotionalOfferID: String?
}

extension SimulatedRenewal {
    /// The renewal of a period's product, without an offer.
    init(of period: PurchaseContents) {
        self.init(
            originalTransactionID: period.originalTransactionID, productID: period.productID,
            nextProductID: period.productID)
    }

    /// Ends the renewal for a reason from 1 to 5.
    mutating func end(_ intent: Int) {
        (isOn, expirationIntent, isInBillingRetry, gracePeriodExpires) = (false, intent, false, nil)
    }
}
