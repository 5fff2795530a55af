// SPDX-License-Identifier: Apache-2.0

internal import ReceiptForge

/// A subscription that the event of a notification changes.
struct ChangingSubscription: Hashable, Sendable {
    /// At least one period, oldest first.
    private(set) var periods: [SimulatedTransaction]
    private(set) var renewal: SimulatedRenewal
    private let now: UTCDate
    /// The transaction ID of a new period.
    private let nextID: String
    /// The product to change to.
    private let productID: String?

    init(_ subscription: SimulatedSubscription, now: UTCDate, nextID: String, productID: String?) {
        periods = subscription.periods
        renewal = subscription.renewal
        self.now = now
        self.nextID = nextID
        self.productID = productID
    }

    var newest: SimulatedTransaction { periods[periods.count - 1] }

    private var end: UTCDate { newest.purchase.expiresDate ?? newest.purchase.purchaseDate }

    /// - Parameter transactionID: the refunded transaction, or that whose refund is undone.
    mutating func apply(_ event: AccountEvent, toTransaction transactionID: String) {
        switch event {
        case .renewed: continueSubscription(from: end)
        case .resubscribed, .recovered: continueSubscription(from: max(end, now))
        case .upgraded: upgrade()
        case .downgraded: renewal.nextProductID = productID ?? newest.purchase.productID + ".lower"
        case .downgradeWithdrawn: renewal.nextProductID = newest.purchase.productID
        case .autoRenewal(let isOn): renewal.isOn = isOn
        case .offerRedeemed: renewal.offerCode = "SIMULATED"
        case .paymentFailed(let hasGracePeriod): failToCollect(hasGracePeriod: hasGracePeriod)
        case .gracePeriodExpired: endGracePeriod()
        case .expired(let intent): expire(intent)
        case .priceIncrease(let isAccepted): increasePrice(isAccepted: isAccepted)
        case .refunded: refund(transactionID)
        case .refundReversed: changeTransaction(transactionID) { $0.reverseRefund() }
        case .familySharingEnded: endFamilySharing()
        case .renewalExtended: changeNewest { $0.extend(bySeconds: Self.extensionSeconds) }
        case .bought: break
        }
    }

    private static let extensionSeconds: Int64 = 30 * 86_400
    private static let gracePeriodSeconds: Int64 = 16 * 86_400
}

extension ChangingSubscription {
    private mutating func continueSubscription(from start: UTCDate) {
        var period = newest.followed(by: start, lasting: length, as: nextID)
        period.purchase.productID = renewal.nextProductID
        (period.offerCode, period.isUpgraded) = (renewal.offerCode, false)
        periods.append(period)
        renewal.settle(for: period.purchase)
    }

    private mutating func upgrade() {
        let start = max(now, newest.purchase.purchaseDate.advanced(bySeconds: 1))
        var better = newest.followed(by: start, lasting: length, as: nextID)
        better.purchase.productID = productID ?? newest.purchase.productID + ".upgraded"
        changeNewest { $0.replace(at: start) }
        periods.append(better)
        renewal.settle(for: better.purchase)
    }

    /// The length of the longest period: an event may have shortened other periods.
    private var length: Int64 {
        periods.map { period in
            let purchase = period.purchase
            return (purchase.expiresDate ?? purchase.purchaseDate).secondsSince1970
                - purchase.purchaseDate.secondsSince1970
        }.reduce(60, max)
    }

    private mutating func changeNewest(_ change: (inout SimulatedTransaction) -> Void) {
        change(&periods[periods.count - 1])
    }

    private mutating func changeTransaction(_ id: String, _ change: (inout SimulatedTransaction) -> Void) {
        guard let index = periods.firstIndex(where: { $0.purchase.transactionID == id }) else { return }
        change(&periods[index])
    }
}

extension ChangingSubscription {
    /// Ends all periods that run or are to begin.
    private mutating func endPeriods() {
        for index in periods.indices { periods[index].end(by: now) }
    }

    private mutating func failToCollect(hasGracePeriod: Bool) {
        endPeriods()
        (renewal.isOn, renewal.expirationIntent, renewal.isInBillingRetry) = (true, 2, true)
        renewal.gracePeriodExpires = hasGracePeriod ? end.advanced(bySeconds: Self.gracePeriodSeconds) : nil
    }

    private mutating func endGracePeriod() {
        failToCollect(hasGracePeriod: true)
        renewal.gracePeriodExpires = min(renewal.gracePeriodExpires ?? now, now)
    }

    private mutating func expire(_ intent: Int) {
        endPeriods()
        renewal.end(intent)
    }

    private mutating func increasePrice(isAccepted: Bool) {
        renewal.priceIncreaseStatus = isAccepted ? 1 : 0
        renewal.priceConsentStatus = renewal.priceIncreaseStatus
    }

    private mutating func refund(_ id: String) {
        changeTransaction(id) { [now] in $0.refund(at: now, .other) }
        guard id == newest.purchase.transactionID else { return }
        renewal.end(1)
    }

    private mutating func endFamilySharing() {
        for index in periods.indices { periods[index].isFamilyShared = true }
        changeNewest { [now] in $0.refund(at: now, .other) }
        renewal.end(1)
    }
}

extension SimulatedTransaction {
    fileprivate mutating func end(by date: UTCDate) {
        purchase.expiresDate = purchase.expiresDate.map { min($0, date) }
        purchase.purchaseDate = min(purchase.purchaseDate, date)
    }

    /// Marks the period as replaced by an upgrade.
    fileprivate mutating func replace(at date: UTCDate) {
        isUpgraded = true
        purchase.cancellationDate = date
    }

    mutating func reverseRefund() {
        (purchase.cancellationDate, purchase.cancellationReason) = (nil, nil)
    }

    fileprivate mutating func extend(bySeconds seconds: Int64) {
        purchase.expiresDate = purchase.expiresDate?.advanced(bySeconds: seconds)
    }
}

extension SimulatedRenewal {
    /// Begins anew with a period that was paid.
    fileprivate mutating func settle(for period: PurchaseContents) {
        self = SimulatedRenewal(of: period)
    }

    /// Ends the renewal for a reason from 1 to 5.
    fileprivate mutating func end(_ intent: Int) {
        (isOn, expirationIntent, isInBillingRetry, gracePeriodExpires) = (false, intent, false, nil)
    }
}
