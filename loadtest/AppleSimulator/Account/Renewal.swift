// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import ReceiptForge

/// What happens when a subscription's period ends: an element of `pending_renewal_info`.
struct Renewal: Hashable, Sendable {
    /// The product it is about.
    var productID: String
    /// Whether the customer wants to go on.
    var isOn = true
    /// The product of the next period.
    var nextProductID: String
    /// Why the subscription ended, 1 to 5; nil while it runs.
    var expirationIntent: Int?
    /// Whether Apple tries to collect; nil while the subscription runs.
    var isInBillingRetry: Bool?
    /// Until when the customer may go on meanwhile.
    var gracePeriodExpires: UTCDate?
    /// Whether the customer has to agree to a new price and has not.
    var awaitsPriceConsent = false
    /// The offer code of the period that runs.
    var offerCode: String?
}

extension Renewal {
    /// A plan to renew one product as it is.
    init(
        of productID: String, isOn: Bool = true, expirationIntent: Int? = nil, isInBillingRetry: Bool? = nil
    ) {
        self.init(
            productID: productID, isOn: isOn, nextProductID: productID, expirationIntent: expirationIntent,
            isInBillingRetry: isInBillingRetry)
    }
}
