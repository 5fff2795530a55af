// SPDX-License-Identifier: Apache-2.0

internal import Clients
internal import Cryptography
internal import Receipts
internal import Settings

/// The files that `init` writes: settings, a client, and the pepper of its key.
struct FirstConfiguration: Sendable {
    struct File: Hashable, Sendable {
        let name: String
        let text: String
        let permissions: UInt16
    }

    /// A whole path.
    let folder: String
    let key: APIKey
    /// In the order of writing: the settings name the other two.
    let files: [File]

    enum Limits {
        static let pepperBytes = 32
    }

    init(folder: String, client: String, apps: [String], key: APIKey) {
        (self.folder, self.key) = (folder, key)
        let pepper = Base64.encodeURL((0..<Limits.pepperBytes).map { _ in .random(in: .min ... .max) })
        let snippet = key.clientsFileSnippet(hasher: KeyHasher(pepper: Secret(pepper)))
        files = [
            File(name: "pepper", text: pepper + "\n", permissions: 0o600),
            File(name: "clients.yaml", text: Self.clients(client, apps, snippet, in: folder), permissions: 0o640),
            File(name: "gateway.yaml", text: Self.settings(in: folder), permissions: 0o644),
        ]
    }

    func path(_ name: String) -> String { Self.path(name, in: folder) }

    private static func path(_ name: String, in folder: String) -> String {
        folder.hasSuffix("/") ? folder + name : "\(folder)/\(name)"
    }

    /// Checks that `serve` accepts the texts, before any is written.
    /// - Throws: the faults of the client's name and its apps.
    func check() throws(ConfigurationProblems) {
        let texts = Dictionary(uniqueKeysWithValues: files.map { (path($0.name), $0.text) })
        let source = ConfigurationSource(environment: [:], filePath: path("gateway.yaml"))
        _ = try source.load { path throws(FileFault) in
            guard let text = texts[path] else { throw FileFault(path: path, description: "does not exist") }
            return text
        }
    }

    /// Writes all files or none. Replaces no file.
    /// - Returns: the fault; nil after success.
    func write() -> String? {
        if let fault = CLibrary.createFolder(folder) { return "\(folder): \(fault)" }
        var written: [String] = []
        for file in files {
            let path = path(file.name)
            if let fault = CLibrary.createFile(path, Array(file.text.utf8), permissions: file.permissions) {
                for path in written { CLibrary.removeFile(path) }
                return "\(path): \(fault)"
            }
            written.append(path)
        }
        return nil
    }

    // MARK: - Texts

    private static func settings(in folder: String) -> String {
        func quoted(_ name: String) -> String { path(name, in: folder).yaml }
        return """
            # The settings of receipt-gateway. docs/configuration.md lists all of them; `receipt-gateway check-config`
            # prints those in force. A variable such as GATEWAY_HTTP_PORT wins over this file.
            gateway:
              clients_file: \(quoted("clients.yaml"))
              # The secret behind the hashes in the clients file. Without it no key is valid: keep a copy in a safe place.
              api_key_pepper_file: \(quoted("pepper"))

              http:
                # For clients on this machine. 0.0.0.0 listens on all addresses; set `tls`, or put a proxy with TLS in front.
                host: 127.0.0.1
                port: 8080
              # /readyz, /metrics and the status page, without a key.
              admin:
                host: 127.0.0.1
                port: 9090

              # Renewals and refunds of receipts need Apple: the account's shared secret of App Store Connect.
              # apple:
              #   shared_secret_file: \(quoted("shared-secret"))

              # Several nodes share limits and Apple's answers in Redis, encrypted. To make a key:
              #   echo "$(date +%Y%m):$(openssl rand -base64 32)"
              # redis:
              #   url: redis://127.0.0.1:6379
              # cache:
              #   keys_file: \(quoted("cache-keys"))

              # Purchases of Xcode's StoreKit testing: its certificate, exported from Xcode.
              # trust_roots: [\((path("StoreKitTestCertificate.pem", in: folder) + "=Xcode").yaml)]

            """
    }

    private static func clients(_ client: String, _ apps: [String], _ key: String, in folder: String) -> String {
        """
        # The clients of receipt-gateway, with the hashes of their API keys. The gateway reads a change of this file
        # without a restart. `receipt-gateway hash-key --config gateway.yaml` makes further keys.
        clients:
          - name: \(client.yaml)
            apps: [\(apps.map(\.yaml).joined(separator: ", "))]
            keys:
        \(key)
            # At most 600 requests in any minute:
            # limits:
            #   - {name: minute, quota: 600, window: 60s}

        # The key of the App Store Server API, from App Store Connect. Signed transactions need it for renewals and refunds.
        # server_api:
        #   issuer_id: 57246542-96fe-1a63-e053-0824d011072a
        #   key_id: 2X9R4HXF34
        #   private_key_file: \(path("AuthKey_2X9R4HXF34.p8", in: folder).yaml)

        """
    }
}

extension String {
    private var isPlain: Bool { wholeMatch(of: /[A-Za-z\/][A-Za-z0-9.\/_-]*/) != nil }

    /// The text as a scalar of YAML, quoted if it has other characters than names and paths have.
    fileprivate var yaml: String { isPlain ? self : "'\(replacing("'", with: "''"))'" }

    /// The text as one word of a shell.
    var quotedForShell: String { isPlain ? self : "'\(replacing("'", with: #"'\''"#))'" }
}
