// SPDX-License-Identifier: Apache-2.0

internal import Cryptography
internal import Customers
internal import Gateway
internal import Yams

extension ClientsFile {
    /// The bounds of webhooks.
    package enum WebhookBounds {
        /// Endpoints of all clients: each has series of metrics, and queues for each of its apps.
        package static let endpoints = 64
        /// The length of an endpoint's name. No character needs escaping in a label.
        static let nameLength = 1...40
        static let urlBytes = 2048
        /// Keys of each kind: the current key, and its replacement.
        static let keysOfOneKind = 2
    }

    private static let webhookFields = [
        "name", "url", "secrets", "key_files", "stream", "apps", "types", "signed_data",
    ]

    /// Reads the endpoints of a client, which receive events of its apps.
    mutating func readWebhooks(_ list: Node?, ofClientNamed client: String?, forApps apps: PermittedApps?) {
        for node in elements(of: list, named: "webhooks") {
            guard let endpoint = readWebhook(node, forApps: apps), let client else { continue }
            add(endpoint, ofClientNamed: client, at: node)
        }
    }

    private mutating func add(_ endpoint: WebhookEndpoint, ofClientNamed client: String, at node: Node) {
        var endpoint = endpoint
        endpoint.name = "\(client)/\(endpoint.name)"
        if webhooks.contains(where: { $0.name == endpoint.name }) {
            report("the webhook \(endpoint.name.printable()) appears twice", at: node)
        }
        if webhooks.count == WebhookBounds.endpoints {
            report("all clients together have \(WebhookBounds.endpoints) webhooks at most", at: node)
        }
        if webhooks.count <= WebhookBounds.endpoints { webhooks.append(endpoint) }
    }

    private mutating func readWebhook(_ node: Node, forApps permitted: PermittedApps?) -> WebhookEndpoint? {
        // Unknown names are hidden: a key looks like a name.
        guard let fields = fields(of: node, named: Self.webhookFields, showsUnknown: false) else { return nil }
        let name = readName(fields["name"], of: node, length: WebhookBounds.nameLength)
        let url = readWebhookURL(fields["url"], of: node)
        let stream: EventStream = value("stream", of: fields) ?? .events
        let keys = readWebhookKeys(fields)
        let apps = readWebhookApps(fields["apps"], of: node, permitted: permitted)
        let types = fields["types"].map { readEventTypes($0) }
        let includesSignedData: Bool? = value("signed_data", of: fields)
        switch stream {
        case .events where fields["secrets"] == nil && fields["key_files"] == nil:
            report("a webhook for events needs secrets or key_files", at: node)
        case .events: break
        case .relay:
            for name in ["types", "signed_data"] where fields[name] != nil {
                report("\(name) is for events: the stream relay has every body of Apple's as it is", at: fields[name])
            }
        }
        guard let name, let url, let apps else { return nil }
        return WebhookEndpoint(
            name: name, apps: apps, url: url, stream: stream, keys: keys, types: types,
            includesSignedData: includesSignedData ?? false)
    }

    // MARK: - URLs

    /// Reads a URL, which is never shown: it may contain a secret.
    private mutating func readWebhookURL(_ node: Node?, of parent: Node) -> String? {
        guard let text = text(node, named: "url", of: parent) else { return nil }
        guard let fault = urlFault(of: text) else { return text }
        return rejected("url \(fault)", at: node)
    }

    private func urlFault(of text: String) -> String? {
        let parts = text.split(separator: "://", maxSplits: 1, omittingEmptySubsequences: false)
        let scheme = parts[0].lowercased()
        guard parts.count == 2, ["https", "http"].contains(scheme) else { return "must begin with https://" }
        if scheme == "http", !allowsPlainWebhooks {
            return "must begin with https://, unless gateway.webhooks.allow_http is true"
        }
        let authority = parts[1].prefix { !"/?#".contains($0) }
        if authority.contains("@") { return "must not have a user name or password: events are signed" }
        if authority.isEmpty || authority.hasPrefix(":") { return "must have a host" }
        if text.contains("#") { return "must not have a fragment (#): it is never sent" }
        guard text.isVisibleASCII, text.utf8.count <= WebhookBounds.urlBytes else {
            return "must hold up to \(WebhookBounds.urlBytes) visible ASCII characters"
        }
        return nil
    }

    // MARK: - Keys

    private mutating func readWebhookKeys(_ fields: [String: Node]) -> [WebhookKey] {
        if let node = fields["secrets"], fields["key_files"] != nil {
            report("secrets and key_files are both set; set only one", at: node)
        }
        guard let list = fields["secrets"] ?? fields["key_files"] else { return [] }
        let isInline = fields["secrets"] != nil
        let nodes = elements(of: list, named: isInline ? "secrets" : "key_files")
        if nodes.isEmpty { report("a list of keys must not be empty", at: list) }
        let keys = nodes.compactMap { isInline ? readInlineKey($0) : readKeyFile($0) }
        checkNumbers(of: keys, at: list)
        return keys
    }

    private mutating func readInlineKey(_ node: Node) -> WebhookKey? {
        let name = "a key of secrets"
        return text(node, named: name, of: node).flatMap { key($0, named: name, at: node) }
    }

    private mutating func readKeyFile(_ node: Node) -> WebhookKey? {
        let text = readSecretFile(node, named: "key_files") { $0.hasPrefix("/") }
        return text.flatMap { key($0.exposed, named: "the key in a file of key_files", at: node) }
    }

    private mutating func key(_ text: String, named name: String, at node: Node) -> WebhookKey? {
        do throws(WebhookKeyFault) {
            return try WebhookKey(text)
        } catch {
            return rejected("\(name) \(error)", at: node)
        }
    }

    private mutating func checkNumbers(of keys: [WebhookKey], at list: Node) {
        if Set(keys).count < keys.count { report("the same key is there twice", at: list) }
        let maximum = WebhookBounds.keysOfOneKind
        let symmetric = keys.count { if case .symmetric = $0 { true } else { false } }
        if max(symmetric, keys.count - symmetric) > maximum {
            report("a webhook has \(maximum) keys of each kind (whsec_, whsk_) at most", at: list)
        }
    }

    // MARK: - Apps and types

    /// Returns the apps of a webhook: the apps in its list, or all apps of the client; nil after a problem.
    private mutating func readWebhookApps(
        _ node: Node?, of webhook: Node, permitted: PermittedApps?
    ) -> Set<String>? {
        guard let permitted else { return nil }
        guard let node else {
            if case .only(let bundleIDs) = permitted { return bundleIDs }
            return rejected("a webhook of a client for any app needs apps: a list of bundle IDs", at: webhook)
        }
        let nodes = elements(of: node, named: "apps")
        if nodes.isEmpty { report("apps of a webhook must be a list of bundle IDs", at: node) }
        let bundleIDs = nodes.compactMap { text($0, named: "an app of a webhook", of: node) }
        for bundleID in bundleIDs where bundleID == "*" || !permitted.contains(bundleID) {
            report(
                bundleID == "*"
                    ? "\"*\" is no app: list the bundle IDs of a webhook"
                    : "the client may not use the app \(bundleID.printable()): add it to apps of the client first",
                at: node)
        }
        return Set(bundleIDs)
    }

    private mutating func readEventTypes(_ list: Node) -> Set<EventType> {
        let nodes = elements(of: list, named: "types")
        if nodes.isEmpty { report("types must not be empty: leave it out for all types", at: list) }
        return Set(nodes.flatMap { readEventTypes(matching: $0) })
    }

    /// Reads a type, or all with a prefix: `subscription.*`.
    private mutating func readEventTypes(matching node: Node) -> Set<EventType> {
        guard let text = text(node, named: "types", of: node) else { return [] }
        let types = EventType.matching(text)
        guard types.isEmpty else { return types }
        let hint = NearestName.of(text, among: EventType.allCases.map(\.rawValue)).map { "; did you mean \($0)?" }
        report("\(text.printable()) is no type of events\(hint ?? ": see docs/events.yaml")", at: node)
        return []
    }
}

extension EventStream: ConfigurationValue {}
