// SPDX-License-Identifier: Apache-2.0

import AppStore
import Cryptography
import Customers
import Foundation
import Gateway
import ReceiptForge
import Receipts
import Synchronization
import Testing

@testable import Clients
@testable import Server
@testable import ServerTestSupport
@testable import Settings
@testable import Telemetry

/// Reloads with real files.
struct ReloaderTests {
    private static let now = Timestamp(millisecondsSince1970: 1_800_000_000_000)
    private static let pepper = "a pepper of at least thirty-two bytes"
    private static let secret = "0123456789abcdef0123456789abcdef"
    private static let otherRoot = ForgedPKI(seed: 2).rootPEM

    // MARK: - The clients file

    @Test func `keys are replaced, and a request that began with one keeps it`() throws {
        let old = APIKey.random(), new = APIKey.random(), other = APIKey.random()
        let fixture = try Fixture(clients: [("shop", [old]), ("other", [other])])
        let began = fixture.access.now
        try fixture.write(clients: [("shop", [new]), ("other", [other])])
        let reload = fixture.reload()
        #expect(reload.result == .success && reload.changed == ["gateway.clients_file"] && reload.problems == [])
        #expect(
            fixture.owner(of: old) == nil && fixture.owner(of: new) == "shop" && fixture.owner(of: other) == "other")
        #expect(began.authenticator.client(with: Credentials(apiKey: old.exposed), at: Self.now)?.name == "shop")
    }

    @Test func `a file with faults is rejected as a whole, with all its faults`() throws {
        let key = APIKey.random()
        let fixture = try Fixture(clients: [("shop", [key])])
        let before = fixture.access.now
        try fixture.write(
            "clients:\n- {name: shop, keys: []}\n- {name: x, apps: '*', keys: [], colour: red}\n", to: "clients.yaml")
        let reload = fixture.reload()
        #expect(reload.result == .refused && reload.changed == [])
        #expect(reload.problems.count == 2 && reload.problems.allSatisfy { $0.contains("clients.yaml:") })
        #expect(fixture.access.now === before)
        try fixture.write(clients: [("shop", [key])])
        #expect(fixture.reload() == LastReload(time: Self.now, result: .unchanged))
        #expect(fixture.access.now === before)
    }

    @Test func `a missing file is rejected, and accepted when it is back`() throws {
        let fixture = try Fixture()
        try FileManager.default.removeItem(at: fixture.folder.url("clients.yaml"))
        #expect(fixture.checks(2) == [false, true])
        let reload = fixture.reload()
        #expect(reload.result == .refused && reload.problems.contains { $0.hasSuffix("clients.yaml does not exist") })
        #expect(fixture.checks(2) == [false, false])
        try fixture.write(clients: ["back"])
        #expect(fixture.checks(2) == [false, true])
        #expect(fixture.reload().result == .success && fixture.access.now.rules.clients?.map(\.name) == ["back"])
    }

    @Test func `a Kubernetes mount is reloaded when its folder is replaced`() throws {
        let fixture = try Fixture(isMounted: true)
        #expect(fixture.checks(3) == [false, false, false])
        try fixture.write(clients: ["next"])
        #expect(fixture.checks(2) == [false, true])
        #expect(fixture.reload().changed == ["gateway.clients_file"])
        #expect(fixture.access.now.rules.clients?.map(\.name) == ["next"])
        #expect(fixture.checks(2) == [false, false])
    }

    // MARK: - Secrets

    @Test func `cached answers become outdated when the secrets change, and only then`() throws {
        let fixture = try Fixture()
        #expect(fixture.access.now.answersVersion == 0)
        try fixture.write(clients: ["shop"])
        #expect(fixture.reload().result == .success && fixture.access.now.answersVersion == 0)
        try fixture.write(String(Self.secret.reversed()), to: "secret")
        #expect(fixture.reload().changed == ["gateway.apple.shared_secret"] && fixture.access.now.answersVersion == 1)
        try fixture.write(clients: ["shop"], apps: "apps:\n- {bundle_id: a, shared_secret: \(Self.secret)}\n")
        #expect(fixture.reload().changed == ["gateway.clients_file"] && fixture.access.now.answersVersion == 2)
        #expect(fixture.access.now.rules.secrets.secret(forApp: "a") == Secret(Self.secret))
    }

    @Test func `a key of the App Store Server API is replaced with its file, and no part of it is shown`() throws {
        let fixture = try Fixture()
        try fixture.write(ServerAPIKeyFixture.pem(1), to: "key.p8")
        let key = "issuer_id: \(ServerAPIKeyFixture.issuerID), key_id: \(ServerAPIKeyFixture.keyID)"
        let apps = "server_api: {\(key), private_key_file: \(fixture.folder.path("key.p8"))}\n"
        try fixture.write(clients: ["shop"], apps: apps)
        #expect(fixture.reload().changed == ["gateway.clients_file"] && fixture.access.now.answersVersion == 1)
        try fixture.write(clients: ["next"], apps: apps)
        #expect(fixture.reload().result == .success && fixture.access.now.answersVersion == 1)
        let first = try #require(fixture.access.now.rules.serverAPIKeys.account)
        try fixture.write(ServerAPIKeyFixture.pem(2), to: "key.p8")
        #expect(fixture.checks(2) == [false, true])
        let reload = fixture.reload()
        #expect(reload.changed == ["gateway.clients_file"] && fixture.access.now.answersVersion == 2)
        #expect(fixture.access.now.rules.serverAPIKeys.account?.privateKey != first.privateKey)
        try fixture.write(ServerAPIKeyFixture.withPassphrase, to: "key.p8")
        let refused = fixture.reload()
        #expect(refused.result == .refused && fixture.access.now.answersVersion == 2)
        #expect(refused.problems.first?.contains("without a passphrase") == true, "\(refused.problems)")
        #expect(!refused.problems.joined().contains("BEGIN") && !refused.problems.joined().contains("key.p8"))
    }

    @Test func `the interface for receipts changes for an app and for all, and outdates cached answers`() throws {
        let fixture = try Fixture()
        func upstream(_ bundleID: String) -> ReceiptUpstream {
            fixture.access.now.rules.receiptUpstreams.upstream(forApp: bundleID)
        }
        #expect(upstream("a") == .both && fixture.access.now.answersVersion == 0)
        for client in ["shop", "next"] {
            let apps = "apps:\n- {bundle_id: a, receipt_upstream: server_api}\n"
            try fixture.write(clients: [client], apps: apps)
            #expect(fixture.reload().changed == ["gateway.clients_file"] && fixture.access.now.answersVersion == 1)
            #expect(upstream("a") == .serverAPI && upstream("b") == .both)
        }
        try fixture.write(appleSettings: ", receipt_upstream: verify_receipt")
        let reload = fixture.reload()
        #expect(reload.changed == ["gateway.apple.receipt_upstream"] && reload.awaitingRestart == [])
        #expect(fixture.access.now.answersVersion == 2)
        #expect(upstream("a") == .serverAPI && upstream("b") == .verifyReceipt)
        try fixture.write(clients: ["shop"], apps: "apps:\n- {bundle_id: a, receipt_upstream: apple}\n")
        let refused = fixture.reload()
        #expect(refused.result == .refused && upstream("a") == .serverAPI)
        #expect(refused.problems.first?.hasSuffix("receipt_upstream takes verify_receipt, server_api, both") == true)
    }

    @Test func `the webhooks of clients change with the file and their keys, and plain HTTP needs a restart`() throws {
        let fixture = try Fixture()
        func write(_ url: String) throws {
            let key = fixture.folder.path("webhook"), webhook = "{name: a, url: \(url), key_files: [\(key)]}"
            try fixture.write(
                "clients: [{name: shop, apps: [com.example.a], keys: [], webhooks: [\(webhook)]}]", to: "clients.yaml")
        }
        try fixture.write(WebhookSamples.key, to: "webhook")
        try write("https://shop.example.com/")
        #expect(fixture.reload().changed == ["gateway.clients_file"])
        let first = try #require(fixture.access.now.rules.webhooks.first)
        #expect(first.name == "shop/a" && fixture.access.now.answersVersion == 0)
        try fixture.write(WebhookSamples.otherKey, to: "webhook")
        #expect(fixture.checks(2) == [false, true])
        #expect(fixture.reload().changed == ["gateway.clients_file"])
        #expect(fixture.access.now.rules.webhooks.first?.keys != first.keys)
        try fixture.write(configuration: "  webhooks: {allow_http: true}\n")
        #expect(fixture.reload().awaitingRestart == ["gateway.webhooks.allow_http"])
        try write("http://shop.example.com/")
        #expect(fixture.reload().result == .refused)
        #expect(fixture.access.now.rules.webhooks.first?.url == "https://shop.example.com/")
    }

    @Test func `a new pepper with old hashes is rejected, and with new hashes accepted`() throws {
        let key = APIKey.random()
        let fixture = try Fixture(clients: [("shop", [key])])
        let another = "another pepper, just as long as the first"
        try fixture.write(another, to: "pepper")
        let reload = fixture.reload()
        #expect(
            reload.result == .refused && reload.problems.first?.hasPrefix("gateway.api_key_pepper: has changed") == true
        )
        #expect(!reload.problems.joined().contains("thirty-two") && !reload.problems.joined().contains("just as long"))
        #expect(fixture.owner(of: key) == "shop")
        try fixture.write(clients: [("shop", [key])], pepper: another)
        #expect(fixture.reload().changed == ["gateway.clients_file", "gateway.api_key_pepper"])
        #expect(fixture.owner(of: key) == "shop")
    }

    // MARK: - Trusted roots

    @Test func `roots are added and removed, and outdate cached answers`() throws {
        let fixture = try Fixture()
        #expect(fixture.verifier.now.trustStore == .apple)
        let before = fixture.verifier.now
        #expect(fixture.reload().result == .unchanged && fixture.verifier.now === before)
        try fixture.write(configuration: "  trust_roots: FOLDER/root.pem=Sandbox\n")
        let added = fixture.reload()
        #expect(added.changed == ["gateway.trust_roots"] && added.awaitingRestart == [])
        #expect(fixture.access.now.answersVersion == 1)
        #expect(fixture.verifier.now.trustStore.anchors.last?.environments == [.sandbox])
        try fixture.write(configuration: "  trust_roots: FOLDER/root.pem=Production+Sandbox\n")
        #expect(fixture.reload().changed == ["gateway.trust_roots"] && fixture.access.now.answersVersion == 2)
        #expect(fixture.verifier.now.trustStore.anchors.last?.environments == [.production, .sandbox])
        // The same roots: nothing is withdrawn.
        let trusting = fixture.verifier.now
        try fixture.write(configuration: "  trust_roots: [FOLDER/root.pem=Sandbox, FOLDER/root.pem=Production]\n")
        #expect(fixture.reload().result == .unchanged && fixture.verifier.now === trusting)
        try fixture.write(configuration: "")
        #expect(fixture.reload().changed == ["gateway.trust_roots"] && fixture.access.now.answersVersion == 3)
        #expect(fixture.verifier.now.trustStore == .apple && trusting.trustStore != .apple)
    }

    @Test func `a root is replaced with its file, whose path may come from the environment`() throws {
        let fixture = try Fixture(environment: ["GATEWAY_TRUST_ROOTS": "FOLDER/root.pem"])
        let first = try #require(fixture.verifier.now.trustStore.anchors.last)
        try fixture.write(Self.otherRoot, to: "root.pem")
        #expect(fixture.checks(2) == [false, true])
        #expect(fixture.reload().changed == ["gateway.trust_roots"] && fixture.access.now.answersVersion == 1)
        let anchors = fixture.verifier.now.trustStore.anchors
        #expect(anchors.count == TrustStore.apple.anchors.count + 1 && anchors.last != first)
        // Another text with the same certificate.
        try fixture.write("# ours\n" + Self.otherRoot, to: "root.pem")
        #expect(fixture.reload().result == .unchanged && fixture.access.now.answersVersion == 1)
    }

    @Test func `intermediates of transaction receipts are reloaded as well`() throws {
        let fixture = try Fixture()
        try fixture.write(configuration: "  trust: {intermediates: FOLDER/root.pem}\n")
        let reload = fixture.reload()
        #expect(reload.changed == ["gateway.trust.intermediates"] && reload.awaitingRestart == [])
        #expect(fixture.access.now.answersVersion == 1 && fixture.verifier.now.trustStore.anchors.count == 3)
    }

    @Test(
        arguments: ["no certificate", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", nil]
            as [String?])
    func `a file of roots with a fault is rejected with all else, and the earlier roots stay`(text: String?) throws {
        let fixture = try Fixture(configuration: "  trust_roots: FOLDER/root.pem\n")
        let before = (fixture.verifier.now, fixture.access.now)
        try fixture.write(clients: ["next"])
        if let text {
            try fixture.write(text, to: "root.pem")
        } else {
            try FileManager.default.removeItem(at: fixture.folder.url("root.pem"))
        }
        let reload = fixture.reload()
        #expect(reload.result == .refused && reload.changed == [])
        #expect(reload.problems.count == 1 && reload.problems.allSatisfy { $0.contains("root.pem") })
        #expect(fixture.verifier.now === before.0 && fixture.access.now === before.1)
        // Faults elsewhere keep the roots, too, and are reported with theirs.
        try fixture.write("clients: 5\n", to: "clients.yaml")
        let problems = fixture.reload().problems
        #expect(["root.pem", "clients.yaml"].allSatisfy { name in problems.contains { $0.contains(name) } })
        try fixture.write(Self.otherRoot, to: "root.pem")
        #expect(fixture.reload().result == .refused && fixture.verifier.now === before.0)
    }

    // MARK: - Settings that need a restart

    @Test func `settings that need a restart are named, and the others are applied`() throws {
        let fixture = try Fixture()
        try fixture.write(configuration: "  log: {requests: none}\n  cache: {near: {size: 1MiB}}\n")
        try fixture.write(clients: ["next"])
        let reload = fixture.reload()
        #expect(reload.result == .success && reload.changed == ["gateway.clients_file"])
        #expect(reload.awaitingRestart == ["gateway.cache.near.size", "gateway.log.requests"])
        // They are reported until they are reverted or the node restarts.
        #expect(fixture.reload().awaitingRestart == reload.awaitingRestart)
        try fixture.write(configuration: "")
        #expect(fixture.reload() == LastReload(time: Self.now, result: .unchanged))
    }

    @Test func `files that are read at the start only are named as well`() throws {
        let fixture = try Fixture(configuration: "  webhooks: {ca_file: FOLDER/root.pem}\n")
        #expect(fixture.reload().awaitingRestart == [])
        try fixture.write(Forged.pki.rootPEM + "the same root, and a word more\n", to: "root.pem")
        let reload = fixture.reload()
        #expect(reload.result == .unchanged)
        #expect(reload.awaitingRestart == ["gateway.webhooks.ca_file (\(fixture.folder.path("root.pem")))"])
    }

    @Test(arguments: ["0.0.0.0", "127.0.0.1"], ["gateway: {http: {host: 127.0.0.1}}\n", ""])
    func `removing the clients is rejected`(host: String, text: String) throws {
        let key = APIKey.random()
        let fixture = try Fixture(clients: [("shop", [key])], configuration: "  http: {host: \(host)}\n")
        try fixture.write(text, to: "gateway.yaml")
        let reload = fixture.reload()
        #expect(reload.result == .refused)
        #expect(reload.problems.contains { $0.hasPrefix("gateway.clients_file: has been removed") })
        #expect(fixture.owner(of: key) == "shop" && fixture.owner(of: .random()) == nil)
    }

    @Test func `a first clients file waits for a restart`() throws {
        let fixture = try Fixture(hasClients: false)
        #expect(fixture.access.now.rules.clients == nil)
        try fixture.write()
        let reload = fixture.reload()
        #expect(reload.awaitingRestart.contains("gateway.clients_file") && fixture.access.now.rules.clients == nil)
    }

    // MARK: - Steps

    /// A configuration in a folder, and its reloader.
    private final class Fixture: Sendable {
        let folder: Folder
        let access: CurrentAccess
        let verifier: CurrentVerifier
        private let reloader: Mutex<Reloader>

        init(
            clients: [(String, [APIKey])] = [("shop", [.random()])], configuration: String = "",
            environment: [String: String] = [:], isMounted: Bool = false, hasClients: Bool = true
        ) throws {
            let folder = try Folder(isMounted: isMounted)
            self.folder = folder
            try folder.write(
                [
                    "gateway.yaml": Self.text(configuration, folder), "pepper": pepper, "secret": secret,
                    "root.pem": Forged.pki.rootPEM, "clients.yaml": Self.text(clients, pepper),
                ])
            if !hasClients { try folder.write(["gateway.yaml": ""]) }
            let source = ConfigurationSource(
                environment: environment.mapValues { $0.replacing("FOLDER", with: folder.location) },
                filePath: folder.path("gateway.yaml"))
            let files = FileReadings()
            let read = try source.load(readFile: files.read)
            let file = try ClientsFile(read, at: now, readFile: files.read)
            access = CurrentAccess(Access(AccessRules(read, file)))
            verifier = CurrentVerifier(ReceiptVerifier(trustStore: try TrustStore(read, readFile: files.read)))
            reloader = Mutex(Reloader(source, files: files, read, access, verifier))
        }

        func reload() -> LastReload { reloader.withLock { $0.reload(at: now) } }

        func checks(_ count: Int) -> [Bool] { (0..<count).map { _ in reloader.withLock { $0.checkFiles() } } }

        func owner(of key: APIKey) -> String? {
            access.now.authenticator.client(with: Credentials(apiKey: key.exposed), at: now)?.name
        }

        func write(_ text: String, to name: String) throws { try folder.write([name: text]) }

        func write(configuration: String = "", appleSettings: String = "") throws {
            try folder.write(["gateway.yaml": Self.text(configuration, folder, appleSettings)])
        }

        /// Writes clients with new keys.
        func write(clients names: [String], apps: String = "") throws {
            try write(clients: names.map { ($0, [.random()]) }, apps: apps)
        }

        func write(clients: [(String, [APIKey])], apps: String = "", pepper: String = ReloaderTests.pepper) throws {
            try folder.write(["clients.yaml": Self.text(clients, pepper) + apps])
        }

        /// - Parameter configuration: more lines, where FOLDER is the folder.
        private static func text(
            _ configuration: String, _ folder: Folder, _ appleSettings: String = ""
        ) -> String {
            """
            gateway:
              clients_file: \(folder.path("clients.yaml"))
              api_key_pepper_file: \(folder.path("pepper"))
              apple: {shared_secret_file: \(folder.path("secret"))\(appleSettings)}
            \(configuration.replacing("FOLDER", with: folder.location))
            """
        }

        private static func text(_ clients: [(String, [APIKey])], _ pepper: String) -> String {
            let hasher = KeyHasher(pepper: Secret(pepper))
            return "clients:\n"
                + clients.map { name, keys in
                    "- name: \(name)\n  apps: '*'\n  keys:\n"
                        + keys.map { $0.clientsFileSnippet(hasher: hasher) + "\n" }.joined()
                }.joined()
        }
    }
}

/// Files, optionally laid out as a Kubernetes mount.
private struct Folder: Sendable {
    private let files: TemporaryFolder
    private let isMounted: Bool

    init(isMounted: Bool) throws {
        (files, self.isMounted) = (try TemporaryFolder(), isMounted)
    }

    var location: String { files.path }

    func url(_ name: String) -> URL { files.url(name) }
    func path(_ name: String) -> String { files.path(name) }

    /// Replaces files, each atomically; in a mount all at once.
    func write(_ texts: [String: String]) throws {
        guard isMounted else {
            for (name, text) in texts { try files.write(text, to: name) }
            return
        }
        try publish(texts)
    }

    /// Writes the files to a new folder, and switches `..data` to it. Each file is a link into `..data`.
    private func publish(_ files: [String: String]) throws {
        let manager = FileManager.default
        let data = url("..data"), next = url("..\(UUID().uuidString)"), link = url("..data_tmp")
        if manager.fileExists(atPath: data.path) {
            try manager.copyItem(at: data.resolvingSymlinksInPath(), to: next)
        } else {
            try manager.createDirectory(at: next, withIntermediateDirectories: true)
        }
        for (name, text) in files {
            try Data(text.utf8).write(to: next.appending(path: name))
            if (try? manager.destinationOfSymbolicLink(atPath: path(name))) == nil {
                try manager.createSymbolicLink(atPath: path(name), withDestinationPath: "..data/\(name)")
            }
        }
        try manager.createSymbolicLink(atPath: link.path, withDestinationPath: next.lastPathComponent)
        let status = unsafe rename(link.path, data.path)
        #expect(status == 0)
    }
}
