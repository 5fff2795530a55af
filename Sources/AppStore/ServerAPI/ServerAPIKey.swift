// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Cryptography

/// A key for the App Store Server API, from App Store Connect.
package struct ServerAPIKey: Hashable, Sendable {
    /// The issuer of the account: a UUID.
    package let issuerID: String
    package let keyID: String
    package let privateKey: ECSigningKey
    /// The first part of all tokens of the key.
    let tokenHeader: [UInt8]

    package init(issuerID: String, keyID: String, privateKey: ECSigningKey) {
        self.issuerID = issuerID
        self.keyID = keyID
        self.privateKey = privateKey
        tokenHeader = BearerToken.header(keyID: keyID)
    }
}

extension ServerAPIKey: Redacted {}

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

    /// True if no app has a key.
    package var isEmpty: Bool { account == nil && ofApps.isEmpty }

    package func key(forApp bundleID: String) -> ServerAPIKey? { ofApps[bundleID] ?? account }
}
