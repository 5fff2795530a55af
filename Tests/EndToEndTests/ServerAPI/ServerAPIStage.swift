// SPDX-License-Identifier: Apache-2.0

import AppleSimulator
import Foundation
import RealServers
import ReceiptForge
import Testing
import TestSupport

/// Gateways that use the App Store Server API and share a Redis. All of them are processes, and so is Apple, as in
/// docs/server-api.md.
struct ServerAPIStage: Surroundings {
    @TaskLocal private static var running: ServerAPIStage?
    static var local: TaskLocal<ServerAPIStage?> { $running }

    static let bundleID = SimulatedCustomers.bundleID

    let apple: AppleProcess
    let gateways: [RunningGateway]
    /// The settings of the gateways, as environment variables.
    let settings: [String: String]
    /// The key that Apple accepts.
    let appleKey: ForgedAPIKey
    private let clients: AppleClientsFile
    private let customers: SimulatedCustomers
    private let pki: TransactionPKI

    /// Requests the verdict on a customer's transaction ID.
    func verify(idOf customer: Int, at node: Int = 0) async throws -> Verdict {
        try await Verdict(verify(id: AppleSimulator.transactionID(ofCustomer: customer), at: node).json)
    }

    /// Sends a transaction ID alone.
    func verify(id: String, at node: Int = 0) async throws -> HTTPAnswer {
        try await post(["transaction_id": id, "bundle_id": Self.bundleID], at: node)
    }

    /// Requests the verdict on a transaction that Apple signed for a customer a day ago: the gateway needs Apple's answer.
    func verify(evidenceOf customer: Int, at node: Int = 0) async throws -> Verdict {
        let evidence = customers.signedTransaction(customer, by: pki)
        return try await Verdict(post(["signed_transactions": [evidence]], at: node).json)
    }

    /// Sends such a transaction as cordova-plugin-purchase does, with the key in the query.
    func validate(evidenceOf customer: Int) async throws -> HTTPAnswer {
        let transaction = [
            "type": "apple-sk2", "id": "product", "jwsRepresentation": customers.signedTransaction(customer, by: pki),
        ]
        let body: [String: Any] = ["id": Self.bundleID, "type": "application", "transaction": transaction]
        let query = "appName=shop&apiKey=\(clients.pluginKey.text)"
        let answer = try await HTTPCall(
            "POST", url: "http://127.0.0.1:\(gateways[0].dataPort)/v1/validate?\(query)",
            body: Data(json: body)
        ).answer()
        #expect(try APIDescription().faults(of: answer, to: "POST", "/v1/validate") == [])
        return answer
    }

    private func post(_ body: [String: Any], at node: Int) async throws -> HTTPAnswer {
        let answer = try await gateways[node].post(body, key: clients.apiKey.text)
        #expect(try APIDescription().faults(of: answer, to: "POST", "/v1/verify") == [])
        return answer
    }

    /// Sends one of Apple's own requests through the first gateway.
    func proxy(_ method: String, _ path: String, body: String? = nil) async throws -> HTTPAnswer {
        let base = "http://127.0.0.1:\(gateways[0].dataPort)/v1/apple/\(Self.bundleID)/production"
        return try await HTTPCall(
            method, url: base + path, body: body.map { Data($0.utf8) }, bearer: clients.apiKey.text
        ).answer()
    }

    /// Sends one of Apple's own requests to Apple.
    func callApple(_ path: String) async throws -> HTTPAnswer {
        let token = appleKey.token(bundleID: Self.bundleID, issuedAt: .now)
        return try await HTTPCall("GET", url: apple.productionURL + path, bearer: token).answer()
    }

    /// Gives the gateways the key that Apple accepts, without a restart.
    func replaceKey() async throws {
        try clients.write(apple.clientsFileLines)
        for gateway in gateways {
            gateway.hangUp()
            try await gateway.expect(successes: 1)
        }
    }
}

extension ServerAPIStage {
    /// Runs a test with the processes, and stops all of them.
    /// - Parameter isKeyAccepted: false if the gateways have another private key than Apple.
    static func run(
        gateways count: Int = 1, isKeyAccepted: Bool = true, _ test: (ServerAPIStage) async throws -> Void
    ) async throws {
        let folder = try ScratchFolder(), corpus = try #require(SharedCorpus.current).url.path
        let redis = try await RealServer.redis()
        let clients = AppleClientsFile(apiKey: try await APIKey(), pluginKey: try await APIKey(), folder: folder)
        try await AppleProcess.run(corpus: corpus, in: folder) { apple in
            let wrongKey = try folder.write(ForgedAPIKey(seed: 41).privateKeyPEM, to: "wrong.p8")
            let wrongLine = "private_key_file: \(wrongKey)"
            let lines = apple.clientsFileLines
            try clients.write(isKeyAccepted ? lines : lines.replacing(/private_key_file: .*/, with: wrongLine))
            let settings = settings(corpus, apple, redis).merging(clients.settings) { $1 }
            var gateways: [RunningGateway] = []
            for _ in 0..<count { gateways.append(try await RunningGateway(settings)) }
            let stage = ServerAPIStage(
                apple: apple, gateways: gateways, settings: settings,
                appleKey: try ForgedAPIKey(corpusDirectory: corpus), clients: clients,
                customers: SimulatedCustomers(AppleProcess.customers, at: .now),
                pki: try TransactionPKI(corpusDirectory: corpus))
            try await test(stage)
            for gateway in gateways { #expect(await gateway.stop() == 0) }
        }
        redis.kill()
    }

    private static func settings(_ corpus: String, _ apple: AppleProcess, _ redis: RealServer) -> [String: String] {
        [
            "GATEWAY_TRUST_ROOTS": "\(corpus)/root.pem,\(corpus)/jws-root.pem=Sandbox+Production",
            "GATEWAY_APPLE_PRODUCTION_URL": apple.productionURL + "/verifyReceipt",
            "GATEWAY_APPLE_SANDBOX_URL": apple.sandboxURL + "/verifyReceipt",
            "GATEWAY_APPLE_SERVER_API_PRODUCTION_URL": apple.productionURL,
            "GATEWAY_APPLE_SERVER_API_SANDBOX_URL": apple.sandboxURL,
            "GATEWAY_REDIS_URL": "redis://127.0.0.1:\(redis.port)", "GATEWAY_CACHE_KEYS": Fleet.cacheKeys,
            // A busy machine must not look like a fault.
            "GATEWAY_REDIS_DEADLINE": Patience.operationSetting, "GATEWAY_APPLE_SOFT_TIMEOUT": "20s",
        ]
    }
}

extension Trait where Self == SurroundingsTrait {
    static var serverAPI: Self { .serverAPI() }

    /// The processes as `ServerAPIStage.current`.
    static func serverAPI(gateways: Int = 1, isKeyAccepted: Bool = true) -> Self {
        SurroundingsTrait(ServerAPIStage.self) {
            try await ServerAPIStage.run(gateways: gateways, isKeyAccepted: isKeyAccepted, $0)
        }
    }
}

/// A clients file with a backend, which may use Apple's endpoints, and an app with a plugin.
private struct AppleClientsFile {
    private static let name = "clients.yaml"

    let apiKey: APIKey
    let pluginKey: APIKey
    let folder: ScratchFolder

    var settings: [String: String] {
        APIKey.pepper.merging(["GATEWAY_CLIENTS_FILE": folder.url.appending(path: Self.name).path]) { $1 }
    }

    /// - Parameter serverAPI: the lines with the key of the App Store Server API.
    func write(_ serverAPI: String) throws {
        let app = """
            clients:
              - name: shop-app
                apps: [\(ServerAPIStage.bundleID)]
                plugins: [cordova-plugin-purchase]
                keys:

            """
        let backend = """
              - name: shop-backend
                apps: [\(ServerAPIStage.bundleID)]
                apple: [read, write]
                keys:

            """
        try folder.replace(Self.name, with: app + pluginKey.lines + backend + apiKey.lines + serverAPI)
    }
}

/// One corpus for all tests of a suite, because it takes seconds to make.
struct SharedCorpus: SuiteTrait, TestScoping {
    @TaskLocal static var current: ScratchFolder?

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        let folder = try ScratchFolder()
        let made = try await Program.loadTest.run(["corpus", "--out", folder.url.path, "--count", "1"])
        try #require(made.status == 0, "\(made.errors)")
        try await Self.$current.withValue(folder) { try await function() }
    }
}

extension Trait where Self == SharedCorpus {
    static var sharedCorpus: SharedCorpus { SharedCorpus() }
}

extension UTCDate {
    fileprivate static var now: UTCDate { UTCDate(secondsSince1970: Int64(Date().timeIntervalSince1970)) }
}

extension Verdict {
    /// True if the verdict came from the App Store Server API, new or cached.
    var isServerAPIs: Bool { verdict == "genuine" && source == "app_store_server_api" && degradedReasons.isEmpty }

    /// Returns true if there is no verdict for this reason.
    func isUndecided(_ reason: String) -> Bool {
        verdict == "undecided" && self.reason == "upstream_did_not_answer" && degradedReasons == [reason]
    }
}
