// SPDX-License-Identifier: Apache-2.0

internal import ReceiptForge

/// The changes of accounts that notifications announce.
extension NotificationKind {
    /// True if the account changes; other notifications describe the account as it is.
    var changesAccount: Bool { Self.changingTypes.contains(type) || isResubscription }

    private static let changingTypes: Set<String> = [
        "DID_RENEW", "RENEWAL_EXTENDED", "ONE_TIME_CHARGE", "DID_CHANGE_RENEWAL_PREF", "OFFER_REDEEMED",
        "DID_CHANGE_RENEWAL_STATUS", "PRICE_INCREASE", "DID_FAIL_TO_RENEW", "GRACE_PERIOD_EXPIRED", "EXPIRED", "REFUND",
        "REFUND_REVERSED", "REVOKE",
    ]

    private var isResubscription: Bool { type == "SUBSCRIBED" && subtype == "RESUBSCRIBE" }

    var isUpgrade: Bool { ["DID_CHANGE_RENEWAL_PREF", "OFFER_REDEEMED"].contains(type) && subtype == "UPGRADE" }

    /// True if a consumable is bought.
    var isPurchase: Bool { type == "ONE_TIME_CHARGE" }

    var addsTransaction: Bool { type == "DID_RENEW" || isResubscription || isUpgrade || isPurchase }

    /// True if the notification is about the named transaction, not about the newest.
    var isAboutOneTransaction: Bool { type == "REFUND" || type == "REFUND_REVERSED" }
}

extension SimulatedSubscription {
    private static let extensionDays: Int64 = 30
    private static let graceDays: Int64 = 16
    private static let expirationIntents = [
        "VOLUNTARY": 1, "BILLING_RETRY": 2, "PRICE_INCREASE": 3, "PRODUCT_NOT_FOR_SALE": 4,
    ]

    /// - Parameters:
    ///   - id: the refunded transaction, or the transaction whose refund is undone.
    ///   - nextID: the transaction ID of a new period.
    ///   - productID: the product to change to.
    mutating func apply(_ kind: NotificationKind, toTransaction id: String, nextID: String, productID: String?) {
        switch (kind.type, kind.subtype) {
        case ("DID_RENEW", "BILLING_RECOVERY"), ("SUBSCRIBED", _): addPeriod(nextID, from: max(end, now))
        case ("DID_RENEW", _): addPeriod(nextID, from: end)
        case _ where kind.isUpgrade: upgradeNow(to: productID, nextID)
        case ("DID_CHANGE_RENEWAL_PREF", "DOWNGRADE"), ("OFFER_REDEEMED", "DOWNGRADE"):
            renewal.nextProductID = productID ?? newest.purchase.productID + ".lower"
        case ("DID_CHANGE_RENEWAL_PREF", _): renewal.nextProductID = newest.purchase.productID
        case ("OFFER_REDEEMED", _): renewal.offerCode = "SIMULATED"
        case ("DID_CHANGE_RENEWAL_STATUS", let subtype): renewal.isOn = subtype == "AUTO_RENEW_ENABLED"
        case ("PRICE_INCREASE", let subtype):
            renewal.priceIncreaseStatus = subtype == "ACCEPTED" ? 1 : 0
            renewal.priceConsentStatus = renewal.priceIncreaseStatus
        case ("DID_FAIL_TO_RENEW", let subtype): failNow(graceDays: subtype == "GRACE_PERIOD" ? Self.graceDays : nil)
        case ("GRACE_PERIOD_EXPIRED", _):
            failNow(graceDays: Self.graceDays)
            renewal.gracePeriodExpires = min(renewal.gracePeriodExpires ?? now, now)
        case ("EXPIRED", let subtype):
            endPeriods()
            renewal.end(Self.expirationIntents[subtype ?? ""] ?? 5)
        case ("REFUND", _):
            change(id) { [now] in $0.refund(at: now, .other) }
            if id == newest.purchase.transactionID { renewal.end(1) }
        case ("REFUND_REVERSED", _): change(id) { $0.reverseRefund() }
        case ("REVOKE", _):
            for index in periods.indices { periods[index].isFamilyShared = true }
            changeNewest { [now] in $0.refund(at: now, .other) }
            renewal.end(1)
        case ("RENEWAL_EXTENDED", _):
            changeNewest { $0.purchase.expiresDate = $0.purchase.expiresDate?.advanced(byDays: Self.extensionDays) }
        default: break
        }
    }

    private mutating func addPeriod(_ id: String, from start: UTCDate) {
        var period = newest.followed(by: start, lasting: longest, as: id)
        period.purchase.productID = renewal.nextProductID
        (period.offerCode, period.isUpgraded) = (renewal.offerCode, false)
        periods.append(period)
        renewal = SimulatedRenewal(of: period.purchase)
    }

    private mutating func upgradeNow(to productID: String?, _ id: String) {
        let better = newest.followed(by: upgradeDate(from: now), lasting: longest, as: id)
        replaceNewest(by: better, of: productID)
        renewal = SimulatedRenewal(of: newest.purchase)
    }

    /// The length of the longest period: a change may have shortened other periods.
    private var longest: Int64 {
        periods.map(\.purchase).map { $0.end.secondsSince1970 - $0.purchaseDate.secondsSince1970 }.reduce(60, max)
    }

    /// Ends all periods that run or are to begin.
    private mutating func endPeriods() {
        for index in periods.indices {
            let purchase = periods[index].purchase
            periods[index].purchase.expiresDate = purchase.expiresDate.map { min($0, now) }
            periods[index].purchase.purchaseDate = min(purchase.purchaseDate, now)
        }
    }

    private mutating func failNow(graceDays: Int64?) {
        endPeriods()
        renewal.isOn = true
        failToCollect(graceDays: graceDays)
    }

    private mutating func change(_ id: String, _ change: (inout SimulatedTransaction) -> Void) {
        guard let index = periods.firstIndex(where: { $0.purchase.transactionID == id }) else { return }
        change(&periods[index])
    }
}
