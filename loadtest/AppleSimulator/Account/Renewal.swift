// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import ReceiptForge

/// The renewal state of a subscription: an element of `pending_renewal_info`.
struct Renewal: Hashable, Sendable {
    var productID: String
    /// True if the subscription renews automatically.
    var isOn = true
    /// The product of the next period.
    var nextProductID: String
    /// The reason why the subscription ended, 1 to 5; nil while it runs.
    var expirationIntent: Int?
    /// True while Apple retries the payment; nil while the subscription runs.
    var isInBillingRetry: Bool?
    /// The end of the grace period.
    var gracePeriodExpires: UTCDate?
    /// True if the customer has not yet agreed to a new price.
    var awaitsPriceConsent = false
    /// The offer code of the current period.
    var offerCode: String?
}

extension Renewal {
    init(
        of productID: String, isOn: Bool = true, expirationIntent: Int? = nil, isInBillingRetry: Bool? = nil
    ) {
        self.init(
            productID: productID, isOn: isOn, nextProductID: productID, expirationIntent: expirationIntent,
            isInBillingRetry: isInBillingRetry)
    }
}
