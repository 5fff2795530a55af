// SPDX-License-Identifier: Apache-2.0

package import AppStore
package import Cryptography
package import Customers
package import Gateway
internal import JSON
package import Receipts
internal import Yams

/// Reads a text file.
package typealias FileReader = (String) throws(FileFault) -> String

/// The clients file:
/// ```yaml
/// clients:
///   - name: shop-backend
///     apps: [com.example.shop]      # bundle IDs, or "*" for any app
///     may: [purge]                  # optional: further permissions
///     defer: undecided              # optional: answers to defer without Prefer: undecided, or degraded too
///     signed_answers: true          # optional: answers are signed without Accept: application/jose
///     ownership: reject             # optional: reject purchases that are bound to another account; default report
///     apple: [read]                 # optional: rights to call the App Store Server API, for its apps or by app
///     signatures:                   # with the right sign: what it may have signed, by app
///       com.example.shop:
///         promotional_offers: {com.example.shop.monthly: [comeback]}
///     keys:
///       - id: rgk_5f0c9a3e71b2d846
///         hash: hmac-sha256:9f2c...  # as `receipt-gateway hash-key` prints it
///         expires: 2027-01-01        # optional; rejected from that day on
///     certificates: [dns:shop.internal]  # optional, with or without keys: TLS client certificates; uri:, sha256:
///     limits:                        # optional: rate limits
///       - {name: minute, quota: 1000, window: 60s}
///     concurrency: 200               # optional: the maximum number of requests in flight
///     unknown_ids_per_minute: 20     # optional: transaction IDs that Apple does not know
///     webhooks:                      # optional: URLs that receive events of its apps
///       - name: billing
///         url: https://shop.example.com/events
///         key_files: [/run/secrets/shop-webhook]  # or secrets: [whsec_...]
///         types: [subscription.*]    # optional, as apps, stream and signed_data
///     form:                          # optional, with or without keys above: access to /api and /apiencrypted
///       keys:
///         - hash: hmac-sha256:51d0...  # as `receipt-gateway hash-key --import` prints it
///       apps:
///         - token: app_shop
///           bundle_id: com.example.shop
///           encryption_key_file: /run/secrets/shop-encryption  # optional: for /apiencrypted
/// defaults:                          # optional: for clients without limits
///   limits: [{name: day, quota: 100000, window: 1d}]
/// server_api:                        # optional: the account's key for the App Store Server API
///   issuer_id: 57246542-96fe-1a63-e053-0824d011072a
///   key_id: 2X9R4HXF34
///   private_key_file: /run/secrets/AuthKey_2X9R4HXF34.p8
/// apps:                              # optional: what single apps have of their own
///   - bundle_id: com.example.shop
///     app_apple_id: 1234567890
///     shared_secret_file: /run/secrets/shop
///     server_api: {issuer_id: ..., key_id: ..., private_key_file: ...}
///     receipt_upstream: server_api     # or verify_receipt, both
/// ```
/// Unknown names are errors: a misspelt `expires` must not make a key that never expires.
package struct ClientsFile {
    let path: String
    package private(set) var clients: [Client] = []
    /// The apps' shared secrets, by bundle ID.
    package var sharedSecrets: [String: Secret] = [:]
    /// The keys of the App Store Server API, and the numbers of apps at Apple.
    package private(set) var serverAPIKeys = ServerAPIKeys()
    /// The interfaces that are permitted for the receipts of apps, by bundle ID.
    package private(set) var receiptUpstreams: [String: ReceiptUpstream] = [:]
    /// The clients' access to the form API.
    package internal(set) var formAccounts: [FormAccount] = []
    /// The endpoints of all clients, with unique names.
    package internal(set) var webhooks: [WebhookEndpoint] = []
    private(set) var problems: [ConfigurationProblem] = []
    let formRules: FormAccountRules
    /// True if webhooks may have `http` URLs.
    let allowsPlainWebhooks: Bool
    /// True if the gateway has keys for signed answers.
    private let signsAnswers: Bool
    /// The hashes of all form keys read so far.
    var formKeyHashes: Set<[UInt8]> = []
    /// The names of all clients read so far, and the IDs of their keys.
    private var names: Set<String> = []
    private var keyIDs: Set<String> = []
    /// The identities in certificates of all clients read so far.
    var certificateIdentities: Set<CertificateIdentity> = []
    private let now: Timestamp
    private let readFile: FileReader
    private var defaultLimits = ClientLimits()

    /// Reads a text and the files it names.
    /// - Parameters:
    ///   - now: decides which keys are active.
    ///   - allowsPlainWebhooks: true if webhooks may have `http` URLs.
    ///   - signsAnswers: true if the gateway has keys for signed answers.
    /// - Throws: all problems found.
    package init(
        _ text: String, path: String, now: Timestamp, formRules: FormAccountRules = FormAccountRules(),
        allowsPlainWebhooks: Bool = false, signsAnswers: Bool = false,
        readFile: @escaping FileReader = TextFile.read
    ) throws(ConfigurationProblems) {
        self.path = path
        self.formRules = formRules
        (self.allowsPlainWebhooks, self.signsAnswers) = (allowsPlainWebhooks, signsAnswers)
        self.now = now
        self.readFile = readFile
        read(text)
        guard problems.isEmpty else { throw ConfigurationProblems(problems: problems) }
    }

    private mutating func read(_ text: String) {
        do throws(YAMLFault) {
            guard let root = try YAMLText.root(of: text) else { return report("is empty", at: nil) }
            let names = ["clients", "apps", "defaults", "server_api"]
            guard let fields = fields(of: root, named: names) else { return }
            if let node = fields["defaults"] { readDefaults(node) }
            guard let list = fields["clients"] else { return report("has no list named clients", at: root) }
            for node in elements(of: list, named: "clients") { readClient(node) }
            if let node = fields["server_api"] { serverAPIKeys.account = readServerAPIKey(node) }
            readApps(elements(of: fields["apps"], named: "apps"))
        } catch {
            problems.append(ConfigurationProblem(location: path, fault: error.description))
        }
    }

    private mutating func readDefaults(_ node: Node) {
        guard let fields = fields(of: node, named: Self.keyLimitFields) else { return }
        defaultLimits = readLimits(fields, unlessSet: defaultLimits)
    }

    /// The fields that only a backend may have.
    static let backendFields = keyFields + ["webhooks"]
    private static let keyFields = ["may", "ownership", "defer", "signed_answers", "apple", "signatures"]

    private mutating func readClient(_ node: Node) {
        let names = ["name", "apps", "keys", "form", "plugins", "certificates"] + Self.backendFields
        guard let fields = fields(of: node, named: names + Self.keyLimitFields) else { return }
        let name = text(fields["name"], named: "name", of: node)
        if let form = fields["form"] {
            readForm(form, ofClientNamed: name)
            // A client with form keys needs no other keys.
            if fields["keys"] == nil, fields["certificates"] == nil { return reportUnused(fields) }
        }
        let apps = readPermittedApps(fields["apps"], of: node)
        readWebhooks(fields["webhooks"], ofClientNamed: name, forApps: apps)
        let keys = elements(of: fields["keys"], named: "keys").compactMap { readKey($0) }
        let certificates = readCertificates(fields["certificates"])
        if fields["keys"] == nil, fields["certificates"] == nil {
            report("a client needs keys or certificates", at: node)
        }
        for name in ["apple", "signatures"] {
            guard let node = fields[name], fields["keys"]?.sequence?.isEmpty == true, certificates.isEmpty else {
                continue
            }
            report("\(name) is for API keys, and this client has none: remove it, or add keys", at: node)
        }
        if keys.count(where: { $0.expires.isAhead(of: now) }) > 2 {
            report("a client has two active keys at most", at: node)
        }
        let plugins = readPlugins(fields, apps)
        let limits = readLimits(fields, unlessSet: plugins.isEmpty ? defaultLimits : .ofApps)
        guard let name, let apps else { return }
        let may: Set<Client.Permission> = words(fields["may"], named: "may")
        let client = Client(
            name: name, apps: apps, keys: keys, certificates: certificates, limits: limits, may: may,
            apple: readAppleRights(fields["apple"], forApps: apps),
            signatures: readSignatures(fields["signatures"], of: node, forApps: apps, may: may),
            ownership: value("ownership", of: fields) ?? .report, deferral: value("defer", of: fields) ?? .onRequest,
            signsAnswers: readSignedAnswers(fields), plugins: plugins)
        checkName(of: client, at: fields["name"])
        clients.append(client)
    }

    private mutating func readSignedAnswers(_ fields: [String: Node]) -> Bool {
        let isWanted = value("signed_answers", of: fields) ?? false
        guard isWanted else { return false }
        if !signsAnswers {
            report("signed_answers needs keys: set gateway.signed_answers.key_files", at: fields["signed_answers"])
        }
        if let node = fields["defer"], node.scalar?.string != DeferralPolicy.onRequest.rawValue {
            report("signed answers are never deferred: remove defer, or signed_answers", at: node)
        }
        return true
    }

    /// Reports what a client without API keys cannot use.
    private mutating func reportUnused(_ fields: [String: Node]) {
        if let node = fields["webhooks"] {
            report("webhooks needs apps and keys of the client; a client without API keys has keys: []", at: node)
        }
        for name in ["apps", "plugins"] + Self.keyFields + Self.keyLimitFields {
            guard let node = fields[name] else { continue }
            let advice = name == "apps" || Self.limitFields.contains(name) ? "move it below form" : "remove it"
            report("\(name) is for API keys, and this client has none: \(advice), or add keys", at: node)
        }
    }

    private mutating func readPermittedApps(_ node: Node?, of client: Node) -> PermittedApps? {
        guard let node else {
            return rejected("a client needs apps: a list of bundle IDs, or \"*\" for any app", at: client)
        }
        let names = node.scalar != nil ? [node] : elements(of: node, named: "apps")
        let bundleIDs = names.compactMap { text($0, named: "apps", of: node) }
        if bundleIDs == ["*"] { return .all }
        if bundleIDs.contains("*") { report("\"*\" must be the only entry", at: node) }
        if bundleIDs.isEmpty { report("apps is empty: list bundle IDs, or \"*\" for any app", at: node) }
        return .only(Set(bundleIDs))
    }

    private mutating func readKey(_ node: Node) -> StoredKey? {
        guard let fields = fields(of: node, named: ["id", "hash", "expires"]) else { return nil }
        let id = text(fields["id"], named: "id", of: node)
        let hash = readHash(text(fields["hash"], named: "hash", of: node), at: fields["hash"] ?? node)
        let expires = readExpiry(fields["expires"])
        guard let id, let hash else { return nil }
        if !keyIDs.insert(id).inserted { report("the key \(id.printable()) appears twice", at: node) }
        return StoredKey(id: id, hash: hash, expires: expires)
    }

    mutating func readExpiry(_ node: Node?) -> Timestamp? {
        guard let node else { return nil }
        return Timestamp(rfc3339: "\(node.scalar?.string ?? "")T00:00:00Z")
            ?? rejected("expires must be a day such as 2027-01-31", at: node)
    }

    mutating func readHash(_ text: String?, at node: Node) -> [UInt8]? {
        guard let text else { return nil }
        let prefix = "hmac-sha256:"
        let digits = text.hasPrefix(prefix) ? Array(text.dropFirst(prefix.count).utf8) : []
        if digits.count == 64, let hash = ASCII.bytes(hexadecimal: digits) { return hash }
        return rejected(
            "hash must be \(prefix) and 64 hexadecimal digits, as `receipt-gateway hash-key` prints it", at: node)
    }

    /// Reports a client whose name an earlier client has.
    mutating func checkName(of client: Client, at node: Node?) {
        guard !names.insert(client.name).inserted else { return }
        report("the client \(client.name.printable()) appears twice", at: node)
    }

    /// Records a problem with its line.
    mutating func report(_ fault: String, at node: Node?) {
        let line = node?.mark.map { ":\($0.line)" } ?? ""
        add(ConfigurationProblem(location: path + line, fault: fault))
    }

    /// Records a problem with its line, and returns nil in place of the value that has it.
    mutating func rejected<Value>(_ fault: String, at node: Node?) -> Value? {
        report(fault, at: node)
        return nil
    }

    mutating func add(_ problem: ConfigurationProblem) { problems.append(problem) }

    /// The length of a shared secret. App Store Connect generates secrets of 32 characters; the rest is reserve.
    private static let secretLength = 16...64

    private static let appFields = sharedSecretFields + ["server_api", "app_apple_id", "receipt_upstream"]

    /// Reads the list of apps with a shared secret, a key, a number or an interface of their own.
    mutating func readApps(_ nodes: [Node]) {
        var bundleIDs: Set<String> = []
        for node in nodes {
            guard let fields = fields(of: node, named: ["bundle_id"] + Self.appFields, showsUnknown: false) else {
                continue
            }
            let secret = readSharedSecret(fields)
            let key = fields["server_api"].flatMap { readServerAPIKey($0) }
            let appAppleID = readAppAppleID(fields)
            let receiptUpstream: ReceiptUpstream? = value("receipt_upstream", of: fields)
            if Self.appFields.allSatisfy({ fields[$0] == nil }) {
                report(
                    "an app needs shared_secret_file, shared_secret, server_api, app_apple_id or receipt_upstream",
                    at: node)
            }
            guard let bundleID = text(fields["bundle_id"], named: "bundle_id", of: node) else { continue }
            if bundleID == "*" {
                report(
                    "what any app uses is gateway.apple.shared_secret, gateway.apple.receipt_upstream, and server_api "
                        + "outside of apps", at: node)
            }
            if !bundleIDs.insert(bundleID).inserted {
                report("the app \(bundleID.printable()) appears twice", at: fields["bundle_id"])
            }
            sharedSecrets[bundleID] = secret
            serverAPIKeys.ofApps[bundleID] = key
            serverAPIKeys.appAppleIDs[bundleID] = appAppleID
            receiptUpstreams[bundleID] = receiptUpstream
        }
    }

    static let sharedSecretFields = ["shared_secret", "shared_secret_file"]

    /// Reads a shared secret from the file that is named, or from its place; nil if neither is set.
    mutating func readSharedSecret(_ fields: [String: Node]) -> Secret? {
        switch (fields["shared_secret"], fields["shared_secret_file"]) {
        case (nil, nil): return nil
        case (let node?, _?):
            return rejected("shared_secret and shared_secret_file are both set; set only one", at: node)
        case (let node?, nil):
            guard let text = text(node, named: "shared_secret", of: node) else { return nil }
            return secret(text, named: "shared_secret", at: node)
        case (nil, let node?):
            guard let text = readSecretFile(node, named: "shared_secret_file") else { return nil }
            return secret(text.exposed, named: "the file of shared_secret_file", at: node)
        }
    }

    /// Reads the file that a field names.
    mutating func readSecretFile(
        _ node: Node, named name: String, showsPath: (String) -> Bool = { _ in false }
    ) -> Secret? {
        guard let path = text(node, named: name, of: node) else { return nil }
        do throws(FileFault) {
            return Secret(try readFile(TextFile.path(path, namedIn: self.path)).withoutLineEnds)
        } catch {
            // Usually without the path: it may be the secret, set in the wrong field.
            let file = showsPath(path) ? "the file \(path.printable()) of \(name)" : "the file of \(name)"
            let isPlaced = !path.hasPrefix("/") && self.path.contains("/")
            let folder = isPlaced ? " in the folder of \(self.path)" : ""
            return rejected("\(file)\(folder) \(error.description)", at: node)
        }
    }

    private mutating func secret(_ text: String, named name: String, at node: Node) -> Secret? {
        let length = Self.secretLength
        if text.isPlaceholder { return rejected("\(name) \(String.placeholderFault)", at: node) }
        if text.isVisibleASCII, length.contains(text.utf8.count) { return Secret(text) }
        return rejected(
            "\(name) must hold \(length.lowerBound) to \(length.upperBound) visible ASCII characters", at: node)
    }

    /// Returns the fields of a mapping, with a problem for each name not in `names`; nil and a problem for anything
    /// else. Unknown names are hidden where they may be a misplaced secret.
    mutating func fields(of node: Node, named names: [String], showsUnknown: Bool = true) -> [String: Node]? {
        guard let mapping = node.mapping else {
            return rejected("must have the fields \(names.joined(separator: ", "))", at: node)
        }
        var fields: [String: Node] = [:]
        for (key, value) in mapping {
            let name = key.string ?? ""
            fields[name] = value
            guard !names.contains(name) else { continue }
            let hint = NearestName.of(name, among: names).map { "; did you mean \($0)?" } ?? ""
            let shown = showsUnknown ? name.printable() : "a name"
            report("\(shown) is not a field here (\(names.joined(separator: ", "))\(hint))", at: key)
        }
        return fields
    }

    /// Returns the elements of a list, none for an absent list; reports a problem if it is no list.
    mutating func elements(of node: Node?, named name: String) -> [Node] {
        guard let node else { return [] }
        if let sequence = node.sequence { return Array(sequence) }
        report("\(name) must be a list\(node.null == nil ? "" : ", and has no value")", at: node)
        return []
    }

    /// Returns a non-empty text; reports a problem otherwise.
    mutating func text(_ node: Node?, named name: String, of parent: Node) -> String? {
        if let node, node.null == nil, let text = node.scalar?.string, !text.isEmpty { return text }
        let fault = node == nil ? "is missing" : node?.null == nil ? "must be a text" : "has no value"
        return rejected("\(name) \(fault)", at: node ?? parent)
    }

    /// Reads a name whose characters need no escaping in header fields and labels.
    mutating func readName(_ node: Node?, of parent: Node, length: ClosedRange<Int>) -> String? {
        guard let name = text(node, named: "name", of: parent) else { return nil }
        if name.utf8.allSatisfy(ASCII.isSafe), length.contains(name.utf8.count) { return name }
        return rejected("name must be up to \(length.upperBound) letters, digits and any of .-_", at: node)
    }
}

extension String {
    /// True if no character is white space, invisible or beyond ASCII.
    var isVisibleASCII: Bool { utf8.allSatisfy { (0x21...0x7E).contains($0) } }
}
