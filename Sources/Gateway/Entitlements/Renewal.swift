// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

public import Receipts

/// What Apple plans for a subscription, or why it ended: an element of `pending_renewal_info`. What was not told is nil.
public struct Renewal: Hashable, Sendable {
    /// Why a subscription ended. The raw values are those of the API.
    public enum ExpirationIntent: String, CaseIterable, Hashable, Sendable {
        /// The customer cancelled it.
        case customerCancelled = "customer_cancelled"
        /// The payment failed.
        case billingError = "billing_error"
        /// The customer did not agree to a higher price.
        case priceIncreaseDeclined = "price_increase_declined"
        /// The product could not be bought any more.
        case productUnavailable = "product_unavailable"
        /// Another reason.
        case unknown
    }

    /// Whether the customer has agreed to a higher price that asks for consent. The raw values are those of the API.
    public enum PriceConsent: String, CaseIterable, Hashable, Sendable {
        /// Apple has asked, and the customer has not answered.
        case pending
        /// The customer agreed.
        case given
    }

    /// The subscription it is about. Where the customer changed between products, one plan for each may name it.
    public var originalTransactionID: String
    /// The product it is about: of several plans, that of the latest transaction counts.
    public var productID: String?
    /// The product of the next period.
    public var renewalProductID: String?
    /// Whether it will renew.
    public var willRenew: Bool?
    /// Why it ended.
    public var expirationIntent: ExpirationIntent?
    /// Whether Apple still tries to collect the payment.
    public var isInBillingRetry: Bool?
    /// Until when the customer is served although the payment failed.
    public var gracePeriodExpiresDate: Timestamp?
    /// Whether the customer agreed to a higher price.
    public var priceConsent: PriceConsent?
    /// The promotional offer of the next period.
    public var promotionalOfferID: String?
    /// The name of the offer code of the next period.
    public var offerCodeName: String?

    /// A plan of which no more is known.
    public init(originalTransactionID: String) {
        self.originalTransactionID = originalTransactionID
    }
}

extension Renewal.ExpirationIntent {
    /// The intent of Apple's number (`expiration_intent`): 1 to 5, in this order.
    public init?(code: Int64) {
        guard (1...Int64(Self.allCases.count)).contains(code) else { return nil }
        self = Self.allCases[Int(code) - 1]
    }
}

extension [Renewal] {
    /// Returns the plan that belongs to a transaction with this product, of the plans for one subscription: the one about
    /// the product, else the one that renews to it, else one that names no product.
    ///
    /// A subscription with only one plan has that plan: Apple may name the next product before its transaction is listed.
    func plan(forProduct productID: String) -> Renewal? {
        first { $0.productID == productID } ?? first { $0.renewalProductID == productID }
            ?? first { $0.productID == nil } ?? (count == 1 ? self[0] : nil)
    }
}
