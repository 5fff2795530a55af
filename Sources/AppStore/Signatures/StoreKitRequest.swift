// SPDX-License-Identifier: Apache-2.0

internal import JSON
internal import Receipts

/// A request of an app to StoreKit that needs a signature of the developer's server ("Generating JWS to sign App Store
/// requests", "Generating a signature for promotional offers").
package enum StoreKitRequest: Hashable, Sendable {
    /// - Parameter transactionID: a transaction of the customer who gets the offer; without it any customer gets it.
    case promotionalOffer(ProductOffer, transactionID: String?)
    case introductoryOfferEligibility(productID: SignableText, isEligible: Bool, transactionID: String)
    case advancedCommerce(AdvancedCommerceRequest)
    case originalPromotionalOffer(ProductOffer, OfferAccount?)

    /// The raw values stand in paths and labels. A JWS has its raw value as the audience.
    package enum Kind: String, CaseIterable, Sendable {
        case promotionalOffer = "promotional-offer"
        case introductoryOfferEligibility = "introductory-offer-eligibility"
        case advancedCommerce = "advanced-commerce-api"
        /// The signature of a promotional offer before there were JWS, which StoreKit 1 needs.
        case originalPromotionalOffer = "original-promotional-offer"
    }

    package var kind: Kind {
        switch self {
        case .promotionalOffer: .promotionalOffer
        case .introductoryOfferEligibility: .introductoryOfferEligibility
        case .advancedCommerce: .advancedCommerce
        case .originalPromotionalOffer: .originalPromotionalOffer
        }
    }
}

/// A text that Apple compares with what an app sends. Visible ASCII cannot contain the separator of a signature's parts,
/// and is equal only if its bytes are.
package struct SignableText: Hashable, Sendable {
    package enum Limits {
        package static let bytes = 256
        package static let description = "1 to \(bytes) visible ASCII characters"
    }

    package let text: String

    /// Nil for a text of another form.
    package init?(_ text: String) {
        guard (1...Limits.bytes).contains(text.utf8.count), text.utf8.allSatisfy(\.isVisible) else { return nil }
        self.text = text
    }
}

/// A promotional offer of a product, as in App Store Connect.
package struct ProductOffer: Hashable, Sendable {
    package let productID: SignableText
    package let offerIdentifier: SignableText

    package init(productID: SignableText, offerIdentifier: SignableText) {
        (self.productID, self.offerIdentifier) = (productID, offerIdentifier)
    }
}

/// The customer in the original signature of a promotional offer: what the app sets as the purchase's token or user name.
package struct OfferAccount: Hashable, Sendable {
    let text: String

    /// Nil for anything but a UUID. Apple signs it in lower case.
    package init?(appAccountToken: String) {
        guard let bytes = ASCII.bytes(uuid: appAccountToken.utf8Span.span) else { return nil }
        text = bytes.uuidText
    }

    /// Nil for a text with capital letters: Apple's libraries sign it in lower case, and Apple does not say what StoreKit
    /// compares.
    package init?(applicationUsername: SignableText) {
        let text = applicationUsername.text
        guard !text.utf8.contains(where: (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains) else { return nil }
        self.text = text
    }
}
