// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Gateway
internal import Receipts

extension UpstreamAnswer {
    /// What Apple says of a receipt; nil if the answer does not name an app.
    init?(_ response: VerifyReceiptResponse, from environment: UpstreamEnvironment) {
        guard let receipt = response.receipt else { return nil }
        let transactions = [Transaction](
            // The lists after the first only add what it does not know.
            response.latestReceiptInfo + response.latestExpiredReceiptInfo + receipt.inApp)
        let latestReceipt = response.latestReceipt.flatMap { try? Base64.decode(Array($0.utf8).span) }
        self.init(
            environment: response.environment ?? environment.environment, bundleID: receipt.bundleID,
            transactions: transactions,
            // Answers in the style of iOS 6 are about one subscription, and do not repeat its name.
            renewals: response.pendingRenewalInfo.compactMap { info in
                (info.originalTransactionID ?? transactions.first?.originalTransactionID).map { Renewal(info, of: $0) }
            },
            // A signed container begins so; a transaction receipt does not.
            latestReceipt: latestReceipt?.first == 0x30 ? latestReceipt : nil, body: response.body)
    }
}

extension [Transaction] {
    /// The transactions, each once: of two with one name the first counts, but a refund in either does.
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
