// SPDX-License-Identifier: Apache-2.0

package import Cryptography
internal import JSON
internal import Receipts

/// A key for the App Store Server API, from App Store Connect.
package struct ServerAPIKey: Hashable, Sendable, Redacted {
    /// The issuer of the account: a UUID.
    package let issuerID: String
    package let keyID: String
    package let privateKey: ECSigningKey
    private let signer: JWSSigner

    package init(issuerID: String, keyID: String, privateKey: ECSigningKey) {
        self.issuerID = issuerID
        self.keyID = keyID
        self.privateKey = privateKey
        signer = JWSSigner(privateKey, keyID: keyID, type: "JWT")
    }

    /// Returns a JWS as Apple takes it: in bearer tokens and in signatures for StoreKit.
    func compactJWS(_ claims: [UInt8]) -> String { String(decoding: signer.compactJWS(claims), as: UTF8.self) }
}

/// The keys of all apps, and the apps' numbers at Apple.
package struct ServerAPIKeys: Hashable, Sendable {
    /// The account's key, for apps without their own; nil if there is none.
    package var account: ServerAPIKey?
    /// By bundle ID.
    package var ofApps: [String: ServerAPIKey]
    /// The app Apple IDs, by bundle ID.
    package var appAppleIDs: [String: Int64]

    package init(
        account: ServerAPIKey? = nil, ofApps: [String: ServerAPIKey] = [:], appAppleIDs: [String: Int64] = [:]
    ) {
        self.account = account
        self.ofApps = ofApps
        self.appAppleIDs = appAppleIDs
    }

    package var isEmpty: Bool { account == nil && ofApps.isEmpty }

    package func key(forApp bundleID: String) -> ServerAPIKey? { ofApps[bundleID] ?? account }
}

/// The bearer token of one call: a JWS in compact serialization, signed with ES256 ("Generating JSON Web Tokens for API
/// requests").
enum BearerToken {
    enum Limits {
        /// The time by which the start of a token's life lies in the past, for clocks that disagree.
        static let leeway: Duration = .seconds(60)
        /// Apple rejects tokens that live for more than an hour.
        static let life: Duration = .seconds(300)
    }

    /// - Parameter now: the time of Apple's clock.
    static func token(of key: ServerAPIKey, forApp bundleID: String, at now: Timestamp) -> Secret {
        Secret(key.compactJWS(claims(of: key, forApp: bundleID, at: now)))
    }

    private static func claims(of key: ServerAPIKey, forApp bundleID: String, at now: Timestamp) -> [UInt8] {
        let seconds = now.millisecondsSince1970 / 1000
        return JSONWriter.object { json in
            json.member("iss", key.issuerID)
            json.member("iat", seconds - Limits.leeway.components.seconds)
            json.member("exp", seconds + Limits.life.components.seconds)
            json.member("aud", "appstoreconnect-v1")
            json.member("bid", bundleID)
        }
    }
}
