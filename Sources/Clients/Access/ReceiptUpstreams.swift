// SPDX-License-Identifier: Apache-2.0

internal import AppStore
internal import Customers
package import Gateway

/// The interfaces that are permitted for the receipts of each app.
package struct ReceiptUpstreams: Hashable, Sendable {
    /// For apps without their own.
    package var primary = ReceiptUpstream.both
    /// By bundle ID.
    package var ofApps: [String: ReceiptUpstream] = [:]

    package init(primary: ReceiptUpstream = .both, ofApps: [String: ReceiptUpstream] = [:]) {
        self.primary = primary
        self.ofApps = ofApps
    }

    /// Returns the interfaces for an app; nil stands for an unknown app.
    package func upstream(forApp bundleID: String?) -> ReceiptUpstream { bundleID.flatMap { ofApps[$0] } ?? primary }
}

extension ReceiptUpstream: ConfigurationValue {}

// MARK: - Apps and their keys

extension AccessRules {
    /// The apps that the clients file names: in clients and webhooks, and with settings of their own.
    package var knownApps: Set<String> {
        Set(allClients.flatMap(\.namedApps)).union(secrets.ofApps.keys).union(serverAPIKeys.ofApps.keys)
            .union(serverAPIKeys.appAppleIDs.keys).union(receiptUpstreams.ofApps.keys)
            .union(webhooks.flatMap(\.apps))
    }

    /// The clients, with the clients of the form API.
    package var allClients: [Client] { (clients ?? []) + formAccounts.map(\.client) }

    /// The known apps whose receipts depend on `verifyReceipt`, in alphabetical order: they have no key for the App Store
    /// Server API.
    package var appsWithoutServerAPIKey: [String] {
        knownAppsWithoutKey.filter { receiptUpstreams.upstream(forApp: $0) != .serverAPI }
    }

    private var knownAppsWithoutKey: [String] { knownApps.filter { serverAPIKeys.key(forApp: $0) == nil }.sorted() }

    /// The fault that some apps may use only the Server API and have no key for it, and the advice; nil without such
    /// apps.
    package var receiptUpstreamFault: (seen: String, advice: String)? {
        let apps = appsWithoutUpstream
        guard !apps.isEmpty else { return nil }
        return (
            "server_api without a key of the App Store Server API for \(apps.listed): receipts are answered from their own "
                + "content alone",
            "Set `server_api` for these apps in the clients file, or let `receipt_upstream` be both."
        )
    }

    /// The apps whose receipts no interface of Apple's may answer.
    private var appsWithoutUpstream: [String] {
        let named = knownAppsWithoutKey.filter { receiptUpstreams.upstream(forApp: $0) == .serverAPI }
        let lackOthers = receiptUpstreams.primary == .serverAPI && serverAPIKeys.account == nil
        return named + (lackOthers ? otherApps : [])
    }

    /// The apps that no entry names, which have one name together; empty if no client may use such apps.
    package var otherApps: [String] {
        let isServed = (clients ?? [.loopback]).contains { if case .only = $0.apps { false } else { true } }
        return isServed ? [clients == nil ? "any app" : "other apps"] : []
    }

    /// The apps that clients with keys or certificates may verify, and for which the gateway has nothing to call Apple
    /// with: neither a shared secret nor a key. In alphabetical order.
    package var appsWithoutCredentials: [String] {
        let named = (clients ?? []).filter { !$0.isKeyless }.flatMap(\.namedApps)
        let ofForms = formAccounts.flatMap(\.apps).filter { $0.sharedSecret == nil }.map(\.bundleID)
        return Set(named + ofForms).filter { secrets.secret(forApp: $0) == nil && serverAPIKeys.key(forApp: $0) == nil }
            .sorted()
    }

    /// The fault that clients may have requests signed for apps without a key, and the advice; nil without such apps.
    package var signatureFault: (seen: String, advice: String)? {
        let apps = Set((clients ?? []).flatMap(\.signatures.keys)).filter { serverAPIKeys.key(forApp: $0) == nil }
        guard !apps.isEmpty else { return nil }
        return (
            "Clients may have requests signed for \(apps.sorted().listed), which have no key of the App Store Server API",
            "Set `server_api` in the clients file, for the account or for these apps; or remove their `signatures`."
        )
    }

    /// The fault that some apps have nothing to call Apple with, and the advice; nil without such apps.
    package var credentialsFault: (seen: String, advice: String)? {
        let apps = appsWithoutCredentials
        guard !apps.isEmpty else { return nil }
        return (
            "No shared secret and no key of the App Store Server API for \(apps.listed): mode `auto` answers from what is "
                + "signed alone, without later renewals and refunds",
            "Set gateway.apple.shared_secret_file, or `shared_secret_file` or `server_api` of each app in the clients "
                + "file; or set gateway.apple.enabled to false."
        )
    }
}

extension AccessRules {
    /// The fault that a plugin's signed transactions are answered one by one, and the advice; nil if none are.
    package var pluginFault: (seen: String, advice: String)? {
        let named = (clients ?? []).filter { $0.plugins.contains(.cordova) }.flatMap(\.namedApps)
        let apps = Set(named).filter { serverAPIKeys.key(forApp: $0) == nil }.sorted()
        guard !apps.isEmpty else { return nil }
        return (
            "No key of the App Store Server API for \(apps.listed): \(PluginProtocol.cordova.rawValue) gets no history of "
                + "purchases and no refunds for signed transactions, only for receipts",
            "Set `server_api` in the clients file, unless the app uses StoreKit 1."
        )
    }
}

extension Client {
    /// The apps that it may use by their names; none for a client that may use all.
    fileprivate var namedApps: Set<String> { if case .only(let bundleIDs) = apps { bundleIDs } else { [] } }
}
