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

    /// The entry that a list lacks for a request.
    package enum Gap: Hashable, Sendable {
        case productOfPromotionalOffers(SignableText)
        case promotionalOffer(ProductOffer)
        case productOfIntroductoryOffers(SignableText)
        /// The first in the order of their bytes.
        case sku(OutsideText)
        /// The request names no SKU.
        case anySKU
    }

    /// Returns what the list lacks for a request; nil if it permits the request.
    package func gap(for request: StoreKitRequest) -> Gap? {
        switch request {
        case .promotionalOffer(let offer, _), .originalPromotionalOffer(let offer, _):
            guard let offers = promotionalOffers[offer.productID] else {
                return .productOfPromotionalOffers(offer.productID)
            }
            return offers.contains(offer.offerIdentifier) ? nil : .promotionalOffer(offer)
        case .introductoryOfferEligibility(let productID, _, _):
            return introductoryOffers.contains(productID) ? nil : .productOfIntroductoryOffers(productID)
        case .advancedCommerce(let request): return advancedCommerce.gap(for: request.skus)
        }
    }
}

extension SignatureScope.SKUs {
    fileprivate func gap(for skus: Set<OutsideText>) -> SignatureScope.Gap? {
        guard case .only(let permitted) = self else { return nil }
        guard !skus.isEmpty else { return .anySKU }
        return skus.subtracting(permitted).min { $0.utf8.lexicographicallyPrecedes($1.utf8) }.map { .sku($0) }
    }
}
