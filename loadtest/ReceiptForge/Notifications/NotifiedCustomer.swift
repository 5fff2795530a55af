// SPDX-License-Identifier: Apache-2.0

internal import Receipts

/// A customer whose next event is drawn from the events that are possible now.
struct NotifiedCustomer: Sendable {
    private enum Status: Int64 {
        case active = 1
        case expired, billingRetry, gracePeriod, revoked
    }

    private typealias Action = (inout NotifiedCustomer) -> NotifiedEvent

    let originalTransactionID: String
    private var generator: SplitMix64
    private var now: Timestamp
    private var nextNumber: Int64
    /// The periods, oldest first. Empty before the first event.
    private var periods: [TransactionContents] = []
    private var items: [TransactionContents] = []
    private var renewal = RenewalInfoContents()
    private var status = Status.active
    private let template: TransactionContents

    init(bundleID: String, environment: String, _ generator: SplitMix64) {
        self.generator = generator
        nextNumber = 2_000_000_000_000_000 + self.generator.number(in: 1...900_000_000_000_000)
        originalTransactionID = String(nextNumber)
        now = TransactionContents.signedByDefault
        var template = TransactionContents()
        (template.bundleID, template.environment) = (bundleID, environment)
        template.productID = bundleID + ".monthly"
        (template.originalTransactionID, template.originalPurchaseDate) = (originalTransactionID, now)
        template.appTransactionID = TransactionContents.appTransactionID(of: nextNumber)
        self.template = template
    }

    mutating func nextEvent() -> NotifiedEvent {
        now = now.advanced(by: .milliseconds(generator.number(in: 1...20_000)))
        guard !periods.isEmpty else { return subscribe() }
        return generator.element(of: possibleActions)(&self)
    }

    private static let periodLength: Duration = .seconds(300)
}

extension NotifiedCustomer {
    /// The actions that fit the status. Likely actions stand more than once.
    private var possibleActions: [Action] {
        var actions: [Action] = [{ $0.buyItem() }]
        if items.contains(where: { $0.revocationDate == nil }) { actions.append { $0.refundItem() } }
        guard !isOverdue else { return actions + overdueActions }
        if periods.count > 1, periods[0].revocationDate == nil { actions.append { $0.refund(0) } }
        return actions + subscriptionActions
    }

    /// True if the paid period or the grace period ended without an event.
    private var isOverdue: Bool {
        switch status {
        case .active: newest.expiresDate.map { $0 <= now } == true
        case .gracePeriod: renewal.gracePeriodExpiresDate.map { $0 <= now } == true
        default: false
        }
    }

    private var overdueActions: [Action] {
        guard status == .active else { return [{ $0.endGracePeriod() }] }
        guard renewal.autoRenewStatus == 1 else { return [{ $0.expire() }] }
        return [
            { $0.renew() }, { $0.renew() }, { $0.fail(hasGracePeriod: true) }, { $0.fail(hasGracePeriod: false) },
        ]
    }

    private var subscriptionActions: [Action] {
        switch status {
        case .active where renewal.autoRenewStatus == 1:
            [
                { $0.renew() }, { $0.renew() }, { $0.renew() }, { $0.upgrade() }, { $0.downgrade() },
                { $0.fail(hasGracePeriod: true) }, { $0.fail(hasGracePeriod: false) }, { $0.refundNewest() },
                { $0.toggleRenewal() }, { $0.raisePrice() }, { $0.event("CONSUMPTION_REQUEST") }, { $0.extend() },
            ]
        case .active:
            [
                { $0.toggleRenewal() }, { $0.expire() }, { $0.refundNewest() }, { $0.event("CONSUMPTION_REQUEST") },
            ]
        case .gracePeriod: [{ $0.recover() }, { $0.endGracePeriod() }]
        case .billingRetry: [{ $0.recover() }, { $0.expire() }]
        case .expired: [{ $0.resubscribe() }, { $0.resubscribe() }]
        case .revoked: [{ $0.reverseRefund() }, { $0.resubscribe() }]
        }
    }
}

extension NotifiedCustomer {
    private mutating func subscribe() -> NotifiedEvent {
        renewal.autoRenewProductID = template.productID
        return startPeriod("SUBSCRIBED", "INITIAL_BUY")
    }

    private mutating func renew() -> NotifiedEvent {
        let end = newest.expiresDate ?? now
        wait(until: end)
        return startPeriod("DID_RENEW", nil, at: end)
    }

    private mutating func recover() -> NotifiedEvent { startPeriod("DID_RENEW", "BILLING_RECOVERY") }

    private mutating func resubscribe() -> NotifiedEvent { startPeriod("SUBSCRIBED", "RESUBSCRIBE") }

    /// Adds a paid period of the product that the renewal names.
    private mutating func startPeriod(_ type: String, _ subtype: String?, at start: Timestamp? = nil) -> NotifiedEvent {
        let start = start ?? now
        var period = template
        period.transactionID = periods.isEmpty ? originalTransactionID : nextID()
        period.webOrderLineItemID = nextID()
        period.productID = renewal.autoRenewProductID
        (period.purchaseDate, period.expiresDate) = (start, start.advanced(by: Self.periodLength))
        period.transactionReason = type == "DID_RENEW" ? "RENEWAL" : "PURCHASE"
        period.originalPurchaseDate = periods.first?.originalPurchaseDate ?? start
        periods.append(period)
        settle()
        return event(type, subtype)
    }

    /// Begins a renewal of the newest period's product.
    private mutating func settle() {
        status = .active
        renewal = RenewalInfoContents()
        (renewal.productID, renewal.autoRenewProductID) = (newest.productID, newest.productID)
        renewal.recentSubscriptionStartDate = periods[0].purchaseDate
        renewal.renewalDate = newest.expiresDate
    }

    private mutating func upgrade() -> NotifiedEvent {
        let index = periods.count - 1
        (periods[index].isUpgraded, periods[index].revocationDate) = (true, now)
        periods[index].revocationType = "REFUND_PRORATED"
        renewal.autoRenewProductID = (newest.productID ?? "") + ".plus"
        return startPeriod("DID_CHANGE_RENEWAL_PREF", "UPGRADE")
    }

    private mutating func downgrade() -> NotifiedEvent {
        let isWithdrawn = renewal.autoRenewProductID != newest.productID
        renewal.autoRenewProductID = isWithdrawn ? newest.productID : (template.productID ?? "") + ".basic"
        return event("DID_CHANGE_RENEWAL_PREF", isWithdrawn ? nil : "DOWNGRADE")
    }

    private mutating func extend() -> NotifiedEvent {
        periods[periods.count - 1].expiresDate = newest.expiresDate?.advanced(by: Self.periodLength)
        renewal.renewalDate = newest.expiresDate
        return event("RENEWAL_EXTENDED")
    }

    private mutating func toggleRenewal() -> NotifiedEvent {
        let isOn = renewal.autoRenewStatus == 1
        renewal.autoRenewStatus = isOn ? 0 : 1
        return event("DID_CHANGE_RENEWAL_STATUS", isOn ? "AUTO_RENEW_DISABLED" : "AUTO_RENEW_ENABLED")
    }

    private mutating func raisePrice() -> NotifiedEvent {
        let isPending = renewal.priceIncreaseStatus == 0
        renewal.priceIncreaseStatus = isPending ? 1 : 0
        return event("PRICE_INCREASE", isPending ? "ACCEPTED" : "PENDING")
    }
}

extension NotifiedCustomer {
    private mutating func fail(hasGracePeriod: Bool) -> NotifiedEvent {
        let end = newest.expiresDate ?? now
        wait(until: end)
        (renewal.expirationIntent, renewal.isInBillingRetryPeriod) = (2, true)
        renewal.gracePeriodExpiresDate = hasGracePeriod ? end.advanced(by: Self.periodLength) : nil
        status = hasGracePeriod ? .gracePeriod : .billingRetry
        return event("DID_FAIL_TO_RENEW", hasGracePeriod ? "GRACE_PERIOD" : nil)
    }

    private mutating func endGracePeriod() -> NotifiedEvent {
        wait(until: renewal.gracePeriodExpiresDate ?? now)
        status = .billingRetry
        return event("GRACE_PERIOD_EXPIRED")
    }

    private mutating func expire() -> NotifiedEvent {
        wait(until: newest.expiresDate ?? now)
        let isUnpaid = status == .billingRetry
        (renewal.expirationIntent, renewal.isInBillingRetryPeriod) = (isUnpaid ? 2 : 1, false)
        renewal.autoRenewStatus = 0
        status = .expired
        return event("EXPIRED", isUnpaid ? "BILLING_RETRY" : "VOLUNTARY")
    }

    /// Refunds a period. Only the newest one's refund ends the subscription.
    private mutating func refund(_ index: Int) -> NotifiedEvent {
        periods[index].refund(at: now)
        if index == periods.count - 1 {
            (renewal.autoRenewStatus, renewal.expirationIntent) = (0, 1)
            status = .revoked
        }
        return event("REFUND", about: periods[index])
    }

    private mutating func refundNewest() -> NotifiedEvent { refund(periods.count - 1) }

    private mutating func reverseRefund() -> NotifiedEvent {
        let index = periods.count - 1
        periods[index].reverseRefund()
        status = newest.expiresDate.map { $0 > now } == true ? .active : .expired
        return event("REFUND_REVERSED")
    }

    private mutating func buyItem() -> NotifiedEvent {
        var item = template
        item.transactionID = nextID()
        (item.originalTransactionID, item.originalPurchaseDate) = (item.transactionID, now)
        (item.purchaseDate, item.expiresDate, item.type) = (now, nil, "Consumable")
        (item.webOrderLineItemID, item.subscriptionGroupIdentifier) = (nil, nil)
        (item.productID, item.transactionReason) = ((item.bundleID ?? "") + ".coins", "PURCHASE")
        items.append(item)
        return event("ONE_TIME_CHARGE", about: item, hasRenewal: false)
    }

    private mutating func refundItem() -> NotifiedEvent {
        let index = items.firstIndex { $0.revocationDate == nil } ?? 0
        items[index].refund(at: now)
        return event("REFUND", about: items[index], hasRenewal: false)
    }
}

extension NotifiedCustomer {
    private var newest: TransactionContents { periods[periods.count - 1] }

    /// Lets time pass, so that a date is over.
    private mutating func wait(until date: Timestamp) {
        now = max(now, date.advanced(by: .milliseconds(1)))
    }

    private mutating func nextID() -> String {
        nextNumber += generator.number(in: 1...999)
        return String(nextNumber)
    }

    /// Returns an event about a transaction, the newest period by default, with the state of the subscription.
    private mutating func event(
        _ type: String, _ subtype: String? = nil, about transaction: TransactionContents? = nil, hasRenewal: Bool = true
    ) -> NotifiedEvent {
        var event = NotifiedEvent(
            type, subtype, about: transaction ?? newest, renewalInfo: hasRenewal ? renewal : nil,
            status: hasRenewal ? status.rawValue : nil)
        event.notificationUUID = UUIDText.version4(generator.next(), generator.next())
        event.signedDate = now
        return event
    }
}

extension TransactionContents {
    fileprivate mutating func refund(at date: Timestamp) {
        (revocationDate, revocationReason) = (date, 0)
        (revocationType, revocationPercentage) = ("REFUND_FULL", 100_000)
    }

    fileprivate mutating func reverseRefund() {
        (revocationDate, revocationReason, revocationType, revocationPercentage) = (nil, nil, nil, nil)
    }
}
