// SPDX-License-Identifier: Apache-2.0

internal import AppStore
package import Clients
internal import Gateway
internal import HTTPServer
package import Receipts
internal import RedisStore

extension AccessRules {
    /// - Parameter answerKeys: the keys of signed answers; nil where no request is answered.
    package init(_ configuration: GatewayConfiguration, _ file: ClientsFile?, _ answerKeys: AnswerKeys? = nil) {
        self.init(
            clients: file?.clients, formAccounts: file?.formAccounts ?? [], pepper: configuration.apiKeyPepper,
            secrets: SharedSecrets(configuration, file), serverAPIKeys: file?.serverAPIKeys ?? ServerAPIKeys(),
            receiptUpstreams: ReceiptUpstreams(configuration, file), webhooks: file?.webhooks ?? [],
            answerKeys: answerKeys)
    }
}

extension SharedSecrets {
    package init(_ configuration: GatewayConfiguration, _ file: ClientsFile?) {
        self.init(primary: configuration.apple.sharedSecret, ofApps: file?.sharedSecrets ?? [:])
    }
}

extension ReceiptUpstreams {
    init(_ configuration: GatewayConfiguration, _ file: ClientsFile?) {
        self.init(primary: configuration.apple.receiptUpstream, ofApps: file?.receiptUpstreams ?? [:])
    }
}

extension GatewayConfiguration {
    /// True if notifications, and the events that they cause, are stored.
    package var keepsNotifications: Bool { redis.url != nil || notifications.allowsVolatile }

    /// The faults that the gateway starts with, although they are probably not intended.
    package func startFaults(_ rules: AccessRules) -> [(seen: String, advice: String)] {
        let upstreamFault = apple.isEnabled ? rules.receiptUpstreamFault : nil
        let faults = [
            webhookFault(rules), certificateFault(rules),
            upstreamFault.map { ("receipt_upstream: \($0.seen)", $0.advice) },
            apple.isEnabled ? rules.credentialsFault : nil, rules.signatureFault,
            apple.isEnabled ? rules.pluginFault : nil, addressFault(rules), redis.loginFault, comparisonFault(rules),
        ]
        return faults.compactMap(\.self)
    }

    /// The fault that `verifyReceipt` and the Server API cannot be compared, and the advice; nil if there is none.
    package func comparisonFault(_ rules: AccessRules) -> (seen: String, advice: String)? {
        guard comparison.mode.pairs.contains(.verifyReceiptAndServerAPI) else { return nil }
        let seen = "gateway.comparison.mode is \(comparison.mode.rawValue), and no app has"
        if rules.serverAPIKeys.isEmpty {
            return (
                "\(seen) a key of the App Store Server API",
                "Add server_api to the clients file, or set gateway.comparison.mode to local_apple."
            )
        }
        guard !rules.hasSharedSecret else { return nil }
        return (
            "\(seen) a shared secret: only answers to requests with a `password` are compared with the Server API",
            "Set gateway.apple.shared_secret_file, or `shared_secret_file` of an app in the clients file."
        )
    }

    /// The fault that all customers of a plugin share a limit, and the advice; nil if there is none. Apps send HTTPS, so a
    /// listener without TLS is behind a proxy.
    package func addressFault(_ rules: AccessRules) -> (seen: String, advice: String)? {
        guard !http.listener.tls.isEnabled, http.remoteAddresses.trustedProxies == AddressRanges(),
            http.proxyProtocolAddresses == AddressRanges()
        else { return nil }
        let limited = (rules.clients ?? []).filter { client in
            !client.plugins.isEmpty && client.limits.policies.contains { $0.subject == .address }
        }
        guard !limited.isEmpty else { return nil }
        return (
            "Limits per address for \(limited.map(\.name).sorted().listed), whose keys are in apps: behind the proxy that has "
                + "the TLS certificate, all customers have one address",
            "Set gateway.http.trusted_proxies, or gateway.http.proxy_protocol_from, to the addresses of the proxy."
        )
    }

    /// The fault that certificates of clients are never requested, and the advice; nil if there is none.
    private func certificateFault(_ rules: AccessRules) -> (seen: String, advice: String)? {
        let names = (rules.clients ?? []).filter { !$0.certificates.isEmpty }.map(\.name)
        guard !names.isEmpty, http.listener.tls.clientAuthorities == nil else { return nil }
        return (
            "The gateway requests no client certificates, which the clients file has for \(names.listed)",
            "Set gateway.http.tls.client_ca_file to the authorities that issue them."
        )
    }

    /// The fault that events and deliveries end with the process, and the advice; nil if there is none.
    package func webhookFault(_ rules: AccessRules) -> (seen: String, advice: String)? {
        guard !rules.webhooks.isEmpty, !keepsNotifications else { return nil }
        return (
            "Webhooks without Redis: events, and the state of their delivery, end with this process",
            "Set gateway.redis.url; or set gateway.notifications.allow_volatile to try the gateway out."
        )
    }
}

extension ClientsFile {
    /// Reads the configured file and the files it names; nil if there is none.
    /// - Throws: all problems found.
    package init?(
        _ configuration: GatewayConfiguration, at now: Timestamp,
        readFile: @escaping FileReader = TextFile.read
    ) throws(ConfigurationProblems) {
        guard let path = configuration.clientsFile else { return nil }
        let text: String
        do throws(FileFault) {
            text = try readFile(path)
        } catch {
            throw ConfigurationProblems("gateway.clients_file", "\(path) \(error.description)")
        }
        let rules = FormAccountRules(keyForm: configuration.form.keyForm, pepper: configuration.apiKeyPepper)
        try self.init(
            text, path: path, now: now, formRules: rules,
            allowsPlainWebhooks: configuration.webhooks.allowsPlainHTTP,
            signsAnswers: !configuration.signedAnswers.keyFiles.isEmpty, readFile: readFile)
    }
}
