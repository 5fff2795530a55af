// SPDX-License-Identifier: Apache-2.0

package import AppStore
package import Customers
package import Gateway
package import Receipts

/// A client of the gateway, such as an app's backend, identified by its API keys and certificates.
///
/// A class, because each request refers to its client and never changes it.
package final class Client: Sendable, Hashable {
    /// The name in logs; never in responses.
    package let name: String
    /// The apps it may send receipts of.
    package let apps: PermittedApps
    /// The API keys. Two may be active, so that a new key can replace an old key without a gap.
    package let keys: [StoredKey]
    /// The public part of the key that a request carried; nil for a client that no key identified.
    package let keyID: String?
    /// The identities of its TLS certificates, which a request needs no API key with.
    package let certificates: [CertificateIdentity]
    package let limits: ClientLimits
    package let may: Set<Permission>
    /// The rights to call the App Store Server API through the gateway.
    private let apple: AppleRights
    /// The requests to StoreKit that it may have signed, by bundle ID.
    package let signatures: [String: SignatureScope]
    /// The consequence of a purchase that is bound to another account.
    package let ownership: OwnershipPolicy
    /// The answers that are deferred although the request does not prefer it.
    package let deferral: DeferralPolicy
    /// True if answers are signed although the request does not ask for it.
    package let signsAnswers: Bool
    /// The protocols of plugins whose requests are all that its keys permit, because apps contain the keys; empty for a
    /// backend.
    package let plugins: Set<PluginProtocol>

    init(
        name: String, apps: PermittedApps, keys: [StoredKey], certificates: [CertificateIdentity] = [],
        limits: ClientLimits = ClientLimits(), may: Set<Permission> = [], apple: AppleRights = .none,
        signatures: [String: SignatureScope] = [:], ownership: OwnershipPolicy = .report,
        deferral: DeferralPolicy = .onRequest, signsAnswers: Bool = false, plugins: Set<PluginProtocol> = [],
        keyID: String? = nil
    ) {
        self.keyID = keyID
        self.name = name
        self.apps = apps
        self.keys = keys
        self.certificates = certificates
        self.limits = limits
        self.may = may
        self.apple = apple
        self.signatures = signatures
        self.ownership = ownership
        self.deferral = deferral
        self.signsAnswers = signsAnswers
        self.plugins = plugins
    }

    /// Returns the client of requests with one of its keys. It equals this client.
    func identified(by key: StoredKey) -> Client {
        Client(
            name: name, apps: apps, keys: keys, certificates: certificates, limits: limits, may: may, apple: apple,
            signatures: signatures, ownership: ownership, deferral: deferral, signsAnswers: signsAnswers,
            plugins: plugins, keyID: key.id)
    }

    /// A permission beyond verification. The raw values appear in the clients file.
    package enum Permission: String, CaseIterable, Sendable {
        /// Purging the cached results of a transaction.
        case purge
        /// Binding a purchase to another account, or to none.
        case ownership
        /// Deleting the data of a customer.
        case erase
        /// Having requests to StoreKit signed, within its `signatures`.
        case sign
        /// Deciding which of its requests have spans, by the flag `sampled` of `traceparent`.
        case trace
    }

    /// The client of every request where no clients are configured.
    package static let loopback = Client(
        name: "loopback", apps: .all, keys: [], may: Set(Permission.allCases),
        apple: .everyApp(Set(AppleRight.allCases)))

    /// The client of a request whose body, which has the credentials, is unread.
    package static let unidentified = Client(name: "unidentified", apps: .only([]), keys: [])

    /// True for a client without API keys and certificates: the loopback client, or one of the form API.
    package var isKeyless: Bool { keys.isEmpty && certificates.isEmpty }

    /// True if a browser proves to be this client for any page: by its address, or with a certificate.
    package var isProvenByBrowsers: Bool { keyID == nil && (keys.isEmpty || !certificates.isEmpty) }

    /// A right to call the App Store Server API through the gateway. No right includes another right. The raw values
    /// appear in the clients file.
    package enum AppleRight: String, CaseIterable, Hashable, Sendable {
        case read
        /// Changing the state of one customer.
        case write
        /// Changing the state of many customers, or reaching a server of the app's.
        case mass
        /// Changing what a customer pays, or gets back.
        case commerce
    }

    package enum AppleRights: Hashable, Sendable {
        /// The same rights for each app that the client may use.
        case everyApp(Set<AppleRight>)
        /// By bundle ID; none for other apps.
        case byApp([String: Set<AppleRight>])

        static let none = everyApp([])
    }

    package func appleRights(forApp bundleID: String) -> Set<AppleRight> {
        guard apps.contains(bundleID) else { return [] }
        return switch apple {
        case .everyApp(let rights): rights
        case .byApp(let rights): rights[bundleID] ?? []
        }
    }

    /// Returns what its list for an app lacks to have a request signed; nil if it lacks nothing.
    package func signatureGap(for request: StoreKitRequest, ofApp bundleID: String) -> SignatureScope.Gap? {
        (signatures[bundleID] ?? SignatureScope()).gap(for: request)
    }

    /// Compares what the clients file says, whichever key a request carried.
    package static func == (one: Client, other: Client) -> Bool {
        one === other
            || (one.name, one.apps, one.keys, one.limits, one.may)
                == (other.name, other.apps, other.keys, other.limits, other.may)
                && (one.apple, one.signatures, one.ownership) == (other.apple, other.signatures, other.ownership)
                && (one.deferral, one.signsAnswers, one.plugins, one.certificates)
                    == (other.deferral, other.signsAnswers, other.plugins, other.certificates)
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(name) }
}

/// The answers that are deferred for a client. The raw values appear in the clients file.
package enum DeferralPolicy: String, CaseIterable, Hashable, Sendable, ConfigurationValue {
    /// Only answers to requests that prefer a deferral.
    case onRequest = "on_request"
    /// Also answers without a verdict, because Apple did not answer.
    case undecided
    /// Also answers whose verdict lacks Apple's part for a time.
    case degraded
}

/// The stored half of an API key: enough to recognise the key, not to use it.
package struct StoredKey: Hashable, Sendable {
    package let id: String
    /// HMAC-SHA256(pepper, secret): 32 bytes.
    package let hash: [UInt8]
    /// The time from which the key is rejected; nil for never.
    package let expires: Timestamp?
}

extension Timestamp? {
    /// Returns true before this expiry, and always for nil, which stands for none.
    package func isAhead(of now: Timestamp) -> Bool { map { now < $0 } ?? true }
}

extension OwnershipPolicy: ConfigurationValue {}
