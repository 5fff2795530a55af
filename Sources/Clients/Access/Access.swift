// SPDX-License-Identifier: Apache-2.0

package import AppStore
package import Cryptography
package import Customers
package import Receipts
internal import Synchronization

/// The clients that may send requests, and the credentials of requests to Apple.
package struct AccessRules: Hashable, Sendable {
    /// The clients; nil if every client is the loopback client.
    package var clients: [Client]?
    /// The clients' access to the form API.
    package var formAccounts: [FormAccount]
    package var pepper: Secret?
    package var secrets: SharedSecrets
    package var serverAPIKeys: ServerAPIKeys
    package var receiptUpstreams: ReceiptUpstreams
    /// The endpoints that events are delivered to.
    package var webhooks: [WebhookEndpoint]
    /// The keys of signed answers; nil if answers are not signed.
    package var answerKeys: AnswerKeys?

    package init(
        clients: [Client]? = nil, formAccounts: [FormAccount] = [], pepper: Secret? = nil,
        secrets: SharedSecrets = SharedSecrets(), serverAPIKeys: ServerAPIKeys = ServerAPIKeys(),
        receiptUpstreams: ReceiptUpstreams = ReceiptUpstreams(), webhooks: [WebhookEndpoint] = [],
        answerKeys: AnswerKeys? = nil
    ) {
        (self.clients, self.formAccounts, self.pepper) = (clients, formAccounts, pepper)
        (self.secrets, self.serverAPIKeys) = (secrets, serverAPIKeys)
        (self.receiptUpstreams, self.webhooks, self.answerKeys) = (receiptUpstreams, webhooks, answerKeys)
    }

    /// True if the account, an app or a form account has a shared secret.
    package var hasSharedSecret: Bool {
        secrets != SharedSecrets() || formAccounts.contains { $0.apps.contains { $0.sharedSecret != nil } }
    }

    /// Returns true for an app whose notifications are relayed.
    package func relays(_ bundleID: String) -> Bool {
        webhooks.contains { $0.stream == .relay && $0.apps.contains(bundleID) }
    }

    /// Returns the earliest expiry among keys that are still valid; nil if none expires.
    package func firstExpiry(after now: Timestamp) -> Timestamp? {
        let expiries = (clients ?? []).flatMap(\.keys).map(\.expires) + formAccounts.flatMap(\.keys).map(\.expires)
        return expiries.compactMap(\.self).filter { now < $0 }.min()
    }
}

/// The access rules in force at one moment. Immutable: a reload replaces the object, and a request keeps the object it
/// began with.
package final class Access: Sendable {
    package let rules: AccessRules
    package let authenticator: Authenticator
    package let formAuthenticator: FormAuthenticator
    /// The apps that the clients file names; nil without a clients file, when every app is served.
    package let servedApps: Set<String>?
    /// The protocols of plugins that any client may use.
    package let plugins: Set<PluginProtocol>
    /// The number of changes of the shared secrets, the keys of the App Store Server API, the interfaces for receipts, form
    /// accounts, the keys of signed answers, and trusted roots. An answer from an earlier version may rest on another
    /// secret, key, interface or root, or on another app for the same token.
    package let answersVersion: UInt64

    package init(_ rules: AccessRules, answersVersion: UInt64 = 0) {
        self.rules = rules
        self.answersVersion = answersVersion
        servedApps = rules.clients.map { _ in rules.knownApps }
        plugins = (rules.clients ?? []).reduce(into: []) { $0.formUnion($1.plugins) }
        if let clients = rules.clients, let pepper = rules.pepper {
            authenticator = Authenticator(clients: clients, hasher: KeyHasher(pepper: pepper))
            formAuthenticator = FormAuthenticator(
                accounts: rules.formAccounts, hasher: FormKeyHasher(pepper: pepper))
        } else {
            (authenticator, formAuthenticator) = (.loopbackOnly, .none)
        }
    }

    /// Returns a client by its name; nil if there is none.
    package func client(named name: String) -> Client? {
        (rules.clients ?? [.loopback]).first { $0.name == name }
    }

    /// Returns true if a request that was identified before would still be of this client, with the same apps.
    package func knows(_ client: Client) -> Bool {
        guard let current = self.client(named: client.name), current.apps == client.apps else { return false }
        guard let id = client.keyID else { return current.certificates == client.certificates }
        return current.keys.contains { $0.id == id && client.keys.contains($0) }
    }

    /// Returns true for an app whose notifications are accepted. An app that only a client for any app uses is not
    /// named, so its notifications are not accepted.
    package func servesApp(_ bundleID: String) -> Bool { servedApps?.contains(bundleID) ?? true }

    /// Returns the access that replaces this access when the rules change, or the trusted roots.
    /// - Parameter verdictsHold: false if other roots are trusted.
    package func followed(by rules: AccessRules, verdictsHold: Bool = true) -> Access {
        let answersHold =
            verdictsHold && rules.secrets == self.rules.secrets && rules.serverAPIKeys == self.rules.serverAPIKeys
            && rules.receiptUpstreams == self.rules.receiptUpstreams && rules.formAccounts == self.rules.formAccounts
            && rules.answerKeys == self.rules.answerKeys
        return Access(rules, answersVersion: answersHold ? answersVersion : answersVersion + 1)
    }
}

/// The access currently in force. Each request reads it once.
package final class CurrentAccess: Sendable {
    private let current: Mutex<Access>

    package init(_ access: Access) {
        current = Mutex(access)
    }

    /// The access for requests that begin now.
    package var now: Access { current.withLock { $0 } }

    package func replace(with access: Access) {
        current.withLock { $0 = access }
    }
}

/// The shared secrets: an app's own secret, or else the account's primary secret (App Store Connect, "Generate a shared
/// secret to verify receipts").
package struct SharedSecrets: Hashable, Sendable {
    /// The account's secret; nil if there is none.
    package var primary: Secret?
    /// By bundle ID.
    package var ofApps: [String: Secret] = [:]

    package init(primary: Secret? = nil, ofApps: [String: Secret] = [:]) {
        (self.primary, self.ofApps) = (primary, ofApps)
    }

    /// Returns the app's secret, or the account's if the app has none.
    package func secret(forApp bundleID: String?) -> Secret? { bundleID.flatMap { ofApps[$0] } ?? primary }

    /// Returns true for the app's secret and for the account's, each compared in constant time. Apple uses either.
    package func isSecret(_ password: Secret, ofApp bundleID: String) -> Bool {
        [ofApps[bundleID], primary].compactMap(\.self).count { $0.matches(password) } > 0
    }
}
