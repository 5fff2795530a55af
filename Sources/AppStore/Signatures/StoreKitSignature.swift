// SPDX-License-Identifier: Apache-2.0

internal import Cryptography
internal import JSON
package import Receipts

/// The signature of one request to StoreKit. No request may repeat it: its nonce is used once.
package enum StoreKitSignature: Hashable, Sendable {
    /// A JWS in compact serialization.
    case jws(String)
    case original(OriginalOfferSignature)
}

/// The original signature of a promotional offer, and the values that StoreKit needs beside it.
package struct OriginalOfferSignature: Hashable, Sendable {
    package let keyID: String
    /// A UUID in lower case.
    package let nonce: String
    /// UNIX milliseconds. Apple accepts the signature for 24 hours.
    package let timestamp: Int64
    /// The base64 of the DER.
    package let signature: String
}

extension StoreKitRequest {
    /// Returns a random UUID in lower case (RFC 9562 §5.4).
    package static func nonce() -> String {
        var bytes = SecureRandom.bytes(16)
        bytes[6] = bytes[6] & 0x0F | 0x40
        bytes[8] = bytes[8] & 0x3F | 0x80
        return bytes.uuidText
    }

    package func signature(
        by key: ServerAPIKey, forApp bundleID: String, at now: Timestamp, nonce: String = StoreKitRequest.nonce()
    ) -> StoreKitSignature {
        if case .originalPromotionalOffer(let offer, let account) = self {
            return .original(offer.signature(by: key, forApp: bundleID, of: account, at: now, nonce: nonce))
        }
        let claims = JSONWriter.object { json in
            write(to: &json)
            json.member("bid", bundleID)
            json.member("iss", key.issuerID)
            json.member("aud", kind.rawValue)
            // Apple computes the end of the JWS from it: there is no `exp`.
            json.member("iat", now.millisecondsSince1970 / 1000)
            json.member("nonce", nonce)
        }
        return .jws(key.compactJWS(claims))
    }

    /// Writes the claims of the kind. Apple asks for no others.
    private func write(to json: inout JSONWriter) {
        switch self {
        case .promotionalOffer(let offer, let transactionID):
            json.member("productId", offer.productID.text)
            json.member("offerIdentifier", offer.offerIdentifier.text)
            json.member("transactionId", transactionID)
        case .introductoryOfferEligibility(let productID, let isEligible, let transactionID):
            json.member("productId", productID.text)
            json.member("allowIntroductoryOffer", isEligible)
            json.member("transactionId", transactionID)
        case .advancedCommerce(let request):
            json.key("request")
            json.string { Base64.append(encoding: request.json, to: &$0) }
        case .originalPromotionalOffer: break
        }
    }
}

extension ProductOffer {
    fileprivate func signature(
        by key: ServerAPIKey, forApp bundleID: String, of account: OfferAccount?, at now: Timestamp, nonce: String
    ) -> OriginalOfferSignature {
        let timestamp = now.millisecondsSince1970
        let message = signedBytes(
            forApp: bundleID, keyID: key.keyID, account: account?.text ?? "", nonce: nonce, timestamp: timestamp)
        return OriginalOfferSignature(
            keyID: key.keyID, nonce: nonce, timestamp: timestamp,
            signature: Base64.encode(Array(key.privateKey.encodedSignature(over: message))))
    }

    /// Returns the UTF-8 of the seven parts, with U+2063 between them. The separators of an empty part stay.
    func signedBytes(forApp bundleID: String, keyID: String, account: String, nonce: String, timestamp: Int64)
        -> [UInt8]
    {
        let parts = [bundleID, keyID, productID.text, offerIdentifier.text, account, nonce, String(timestamp)]
        return Array(parts.joined(separator: "\u{2063}").utf8)
    }
}
