// SPDX-License-Identifier: Apache-2.0

package import AppStore
package import JSON

/// The requests that a client may have signed for one app.
package struct SignatureScope: Hashable, Sendable {
    package enum SKUs: Hashable, Sendable {
        /// Also requests that name none, such as the change of a period.
        case any
        /// A request must name a SKU, and only these.
        case only(Set<OutsideText>)
    }

    /// The offers of products.
    package var promotionalOffers: [SignableText: Set<SignableText>] = [:]
    /// The products of introductory offers.
    package var introductoryOffers: Set<SignableText> = []
    package var advancedCommerce = SKUs.only([])

    package init() {}

    package func permits(_ request: StoreKitRequest) -> Bool {
        switch request {
        case .promotionalOffer(let offer, _), .originalPromotionalOffer(let offer, _):
            promotionalOffers[offer.productID]?.contains(offer.offerIdentifier) ?? false
        case .introductoryOfferEligibility(let productID, _, _): introductoryOffers.contains(productID)
        case .advancedCommerce(let request): advancedCommerce.permits(request.skus)
        }
    }
}

extension SignatureScope.SKUs {
    fileprivate func permits(_ skus: Set<OutsideText>) -> Bool {
        switch self {
        case .any: true
        case .only(let permitted): !skus.isEmpty && skus.isSubset(of: permitted)
        }
    }
}
