// SPDX-License-Identifier: Apache-2.0

/// A key of the App Store Server API, as App Store Connect issues them. Everything is derived from the seed.
package struct ForgedAPIKey: Sendable {
    /// Ten letters and digits.
    package let keyID: String
    /// A UUID.
    package let issuerID: String
    private let key: ECPrivateKey

    package init(seed: UInt64) {
        var generator = SplitMix64(seed: seed, purpose: "server API key")
        keyID = String((0..<10).map { _ in generator.element(of: Self.keyIDAlphabet) })
        issuerID = UUIDText.grouped { _ in UInt8(generator.number(in: 0...15)) }
        key = ECPrivateKey(.p256, seed: seed, purpose: "server API")
    }

    private static let keyIDAlphabet = Array("ABCDEFGHJKLMNPQRSTUVWXYZ23456789")

    /// The name of the file that App Store Connect offers.
    package var fileName: String { "AuthKey_\(keyID).p8" }

    /// The private key as PKCS #8 in PEM (RFC 5958, RFC 7468).
    package var privateKeyPEM: String { key.pem }

    /// Returns a bearer token for an app, valid for five minutes unless said otherwise.
    package func token(
        bundleID: String, issuedAt date: UTCDate, lifetimeSeconds: Int64 = 300
    ) -> String {
        let (issued, expires) = (date.secondsSince1970, date.secondsSince1970 + lifetimeSeconds)
        return token(
            header: #"{"alg":"ES256","kid":"\#(keyID)","typ":"JWT"}"#,
            claims: #"{"iss":"\#(issuerID)","iat":\#(issued),"exp":\#(expires),"aud":"appstoreconnect-v1","#
                + #""bid":"\#(bundleID)"}"#)
    }

    /// Signs a header and claims as they stand, JSON texts.
    package func token(header: String, claims: String) -> String {
        let token = ForgedJWS(header: Array(header.utf8), payload: Array(claims.utf8)).signed(by: key.signES256)
        return String(decoding: token.text, as: UTF8.self)
    }

    /// Checks an ES256 signature of 64 bytes.
    package func isValid(_ signature: [UInt8], over message: [UInt8]) -> Bool {
        key.isValid(signature, over: message, digest: .sha256)
    }
}
