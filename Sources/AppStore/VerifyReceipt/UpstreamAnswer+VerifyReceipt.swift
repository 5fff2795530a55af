// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Gateway
internal import Receipts

extension UpstreamAnswer {
    /// Creates the answer of a response; nil if it does not name an app.
    init?(_ response: VerifyReceiptResponse, from environment: UpstreamEnvironment) {
        guard let receipt = response.receipt else { return nil }
        let transactions = [Transaction](
            // The later lists only add transactions missing in the first.
            response.latestReceiptInfo + response.latestExpiredReceiptInfo + receipt.inApp)
        let latestReceipt = response.latestReceipt.flatMap { try? Base64.decode(Array($0.utf8).span) }
        self.init(
            environment: response.environment ?? environment.environment, bundleID: receipt.bundleID,
            transactions: transactions,
            // iOS 6 style answers are about one subscription, and do not repeat its ID.
            renewals: response.pendingRenewalInfo.compactMap { info in
                (info.originalTransactionID ?? transactions.first?.originalTransactionID).map { Renewal(info, of: $0) }
            },
            // DER of a signed container begins with 0x30; a transaction receipt does not.
            latestReceipt: latestReceipt?.first == 0x30 ? latestReceipt : nil, body: response.body)
    }
}

extension [Transaction] {
    /// Merges the transactions by ID: the first of duplicates counts, but a refund in any of them does.
    fileprivate init(_ infos: [TransactionInfo]) {
        self = []
        var indices: [String: Int] = [:]
        for info in infos {
            guard let index = indices[info.transactionID] else {
                indices[info.transactionID] = count
                append(Transaction(info))
                continue
            }
            guard self[index].cancellationDate == nil, let date = info.cancellationDate else { continue }
            (self[index].cancellationDate, self[index].cancellationReason) = (date, info.cancellationReason)
        }
    }
}

extension Transaction {
    fileprivate init(_ info: TransactionInfo) {
        self.init(productID: info.productID, transactionID: info.transactionID)
        originalTransactionID = info.originalTransactionID
        purchaseDate = info.purchaseDate
        originalPurchaseDate = info.originalPurchaseDate
        expiresDate = info.expiresDate
        cancellationDate = info.cancellationDate
        cancellationReason = info.cancellationReason
        isUpgraded = info.isUpgraded
        isTrialPeriod = info.isTrialPeriod
        isInIntroOfferPeriod = info.isInIntroOfferPeriod
        ownership = info.ownershipType.flatMap { Ownership(rawValue: $0.rawValue) }
        subscriptionGroupID = info.subscriptionGroupID
        promotionalOfferID = info.promotionalOfferID
        offerCodeName = info.offerCodeReferenceName
        appAccountToken = info.appAccountToken
        quantity = info.quantity
        webOrderLineItemID = info.webOrderLineItemID
    }
}

extension Renewal {
    fileprivate init(_ info: RenewalInfo, of originalTransactionID: String) {
        self.init(originalTransactionID: originalTransactionID)
        productID = info.productID
        renewalProductID = info.autoRenewProductID
        willRenew = info.willAutoRenew
        expirationIntent = info.expirationIntent.flatMap { ExpirationIntent(code: $0.rawValue) }
        isInBillingRetry = info.isInBillingRetryPeriod
        gracePeriodExpiresDate = info.gracePeriodExpiresDate
        priceConsent = (info.hasConsentedToPrice ?? info.hasConsentedToPriceIncrease).map { $0 ? .given : .pending }
        promotionalOfferID = info.promotionalOfferID
        offerCodeName = info.offerCodeReferenceName
    }
}
