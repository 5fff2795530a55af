// SPDX-License-Identifier: Apache-2.0

internal import AppleSimulator
internal import FoundationEssentials
internal import ReceiptForge

struct FleetShape: Hashable, Sendable {
    var gateways = 1
    var hasRedis = false
    /// The writing of Redis's append-only file to the disk; nil if it keeps nothing on disk.
    var appendFsync: AppendOnlyFile.Fsync?
    /// True if HAProxy stands in front of the gateways; without it clients use the first gateway.
    var hasBalancer = false
    /// The behaviour of Apple's servers; nil if gateways send them no requests.
    var apple: Scenario? = Scenario.healthy
    /// Further settings of the gateways, by the names of their environment variables.
    var settings: [String: String] = [:]
    /// The limits of the one client, as `FleetClients` takes them; nil if clients need no API key.
    var limits: String?
    /// True if gateways call the App Store Server API, and verifyReceipt only with a shared secret in `settings`. Clients
    /// need an API key then.
    var hasServerAPI = false

    /// Sealing and naming of what gateways keep in Redis; any 32 bytes in base64 will do.
    static let cacheKeys = "k1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="

    /// The settings of a gateway that trusts the roots in these files and uses these servers.
    static func settings(
        root: String..., apple: AppleSimulator?, redisURL: String?, hasServerAPI: Bool = false
    ) -> [String: String] {
        var settings = ["GATEWAY_TRUST_ROOTS": root.map { $0 + "=Sandbox+Production" }.joined(separator: ",")]
        if let redisURL { settings += ["GATEWAY_REDIS_URL": redisURL, "GATEWAY_CACHE_KEYS": cacheKeys] }
        guard let apple else { return settings + ["GATEWAY_APPLE_ENABLED": "false"] }
        settings += [
            "GATEWAY_APPLE_PRODUCTION_URL": apple.productionURL, "GATEWAY_APPLE_SANDBOX_URL": apple.sandboxURL,
            "GATEWAY_APPLE_SERVER_API_PRODUCTION_URL": apple.productionBaseURL,
            "GATEWAY_APPLE_SERVER_API_SANDBOX_URL": apple.sandboxBaseURL,
        ]
        // The simulated Apple accepts any secret. Without a secret, gateways do not call verifyReceipt.
        return hasServerAPI ? settings : settings + ["GATEWAY_APPLE_SHARED_SECRET": "0123456789abcdef0123456789abcdef"]
    }
}

extension [String: String] {
    /// Both, where the second decides about what both have.
    static func + (first: [String: String], second: [String: String]) -> [String: String] {
        first.merging(second) { $1 }
    }

    static func += (first: inout [String: String], second: [String: String]) {
        first = first + second
    }
}

/// A fleet on free ports of this machine: gateways, Redis, HAProxy and a simulated Apple.
actor RunningFleet: RunningProgram {
    private let shape: FleetShape
    private let gatewayPath: String
    private let folder: ScratchFolder
    private var settings: [String: String] = [:]
    private var gateways: [RunningGateway] = []
    private(set) var redis: RunningRedis?
    private var appendOnlyFile: AppendOnlyFile?
    private var balancer: ListeningProgram?
    private var apple: AppleSimulator?
    private(set) var key: String?

    static func start(_ shape: FleetShape, gatewayPath: String) async throws -> RunningFleet {
        let fleet = RunningFleet(shape, gatewayPath, try ScratchFolder())
        do {
            try await fleet.begin()
        } catch {
            await fleet.stop()
            throw error
        }
        return fleet
    }

    private init(_ shape: FleetShape, _ gatewayPath: String, _ folder: ScratchFolder) {
        self.shape = shape
        self.gatewayPath = gatewayPath
        self.folder = folder
    }

    private func begin() async throws {
        let pki = ForgedPKI(seed: CorpusCommand.defaultSeed)
        if let scenario = shape.apple {
            var configuration = AppleSimulator.Configuration(pki: pki)
            configuration.transactionPKI = .ofFleets
            configuration.scenario = scenario
            configuration.hasServerAPIPorts = shape.hasServerAPI
            let apple = try await AppleSimulator.start(configuration)
            self.apple = apple
            if shape.hasServerAPI {
                try apple.addCustomers(
                    TrafficOptions.maximumCustomers, ofApp: SimulatedCustomers.bundleID, at: .production)
            }
        }
        if let fsync = shape.appendFsync {
            appendOnlyFile = AppendOnlyFile(fsync: fsync, folder: try folder.makeFolder("redis"))
        }
        if shape.hasRedis { redis = try await RunningRedis.start(appendOnlyFile) }
        settings = FleetShape.settings(
            root: try folder.write(pki.rootPEM, to: "root.pem"),
            try folder.write(TransactionPKI.ofFleets.root.pem, to: "jws-root.pem"), apple: apple,
            redisURL: redis.map { "redis://127.0.0.1:\($0.port)" }, hasServerAPI: shape.hasServerAPI)
        if shape.hasBalancer { settings += Self.drain }
        if let limits = shape.limits ?? (shape.hasServerAPI ? "" : nil) {
            let clients = try await FleetClients(
                [("loadtest", limits)], gatewayPath: gatewayPath, file: folder.path("clients.yaml"),
                rest: shape.hasServerAPI ? try serverAPI.clientsFileLines : "")
            key = clients.keys["loadtest"]
            settings += clients.settings
        }
        settings += ["GATEWAY_LOG_REQUESTS": "none"] + shape.settings
        for _ in 0..<shape.gateways { gateways.append(try await RunningGateway.start(gatewayPath, settings)) }
        guard shape.hasBalancer else { return }
        balancer = try await ListeningProgram.start("haproxy") { port in
            ["-db", "-f", try folder.write(balancerConfiguration(port: port), to: "haproxy.cfg")]
        }
    }

    /// The key of the simulated Apple, in the folder of the fleet.
    private var serverAPI: APIKeyFile {
        get throws { try APIKeyFile(ForgedAPIKey(seed: CorpusCommand.defaultSeed), folder: folder.path) }
    }

    func stop() async {
        await balancer?.stop()
        for gateway in gateways { await gateway.stop() }
        await redis?.stop()
        await apple?.stop()
        folder.remove()
    }

    var clientPort: Int { balancer?.port ?? gateways[0].dataPort }
    var target: LoadTarget { .loopback(clientPort) }
    var authorization: [HeaderField] { .bearer(key) }
    var adminPorts: [Int] { gateways.map(\.adminPort) }
    var servers: [BenchServer] { gateways.map { BenchServer($0) } }
    var metricTargets: [LoadTarget] { adminPorts.map { .loopback($0, "/metrics") } }
    var metrics: [MetricsText.Sample] {
        get async throws {
            var samples: [MetricsText.Sample] = []
            for target in metricTargets { samples += try await MetricsText(of: target).samples }
            return samples
        }
    }
    /// The processor time of the gateways, and the memory of the largest.
    var cpuSeconds: Double { servers.cpuSeconds }
    var residentBytes: Int { servers.map(\.processes.residentBytes).max() ?? 0 }
    /// The number of requests to both endpoints of Apple's until now, in either of its interfaces.
    var questions: Int { calls[.questions] ?? 0 }

    var calls: [ScenarioCount: Int] {
        let stats = apple?.stats
        let (receipts, serverAPI) = (stats.map { $0.production + $0.sandbox } ?? 0, stats?.serverApi.count ?? 0)
        return [.questions: receipts + serverAPI, .verifyReceipt: receipts, .serverAPI: serverAPI]
    }

    func carryOut(_ action: LoadScenario.Action) async throws {
        switch action {
        case .kill(.redis): await redis?.kill()
        case .kill(.verifyReceipt): await apple?.refuseVerifyReceipt()
        case .start(.redis):
            await redis?.kill()
            if let port = redis?.server.reserved { redis = try await RunningRedis.start(at: port, appendOnlyFile) }
        case .start(.verifyReceipt): try await apple?.acceptVerifyReceipt()
        case .restartGateway(let number): try await restartGateway(number)
        case .apple(let scenario): apple?.play(scenario)
        }
    }

    /// Ends a gateway and starts it again at the same ports.
    /// - Parameter isCrash: true to end it at once, as a crash would.
    func restartGateway(_ number: Int, isCrash: Bool = false) async throws {
        let old = gateways[number - 1]
        if isCrash { await old.program.kill() } else { await old.stop() }
        gateways[number - 1] = try await RunningGateway.start(gatewayPath, settings, at: old.ports)
    }

    /// Longer than the balancer takes to notice: two checks, 300 ms each.
    private static let drain = ["GATEWAY_SHUTDOWN_DRAIN_DELAY": "1s", "GATEWAY_SHUTDOWN_GRACE": "5s"]

    /// Requests go to each gateway in turn, as long as its `/readyz` says 200. A request is retried at another gateway
    /// if its own went away before the answer: a second verification does no harm.
    private func balancerConfiguration(port: Int) -> String {
        let servers = gateways.enumerated().map { number, gateway in
            "    server gateway\(number + 1) 127.0.0.1:\(gateway.dataPort) check port \(gateway.adminPort)"
        }
        return """
            global
                maxconn 4000
            defaults
                mode http
                timeout connect 1s
                timeout client 60s
                timeout server 60s
                timeout check 1s
                option redispatch 1
                retries 2
                retry-on conn-failure empty-response
            listen gateways
                bind 127.0.0.1:\(port)
                balance roundrobin
                option httpchk GET /readyz
                default-server inter 300ms fall 2 rise 1
            \(servers.joined(separator: "\n"))

            """
    }
}

extension AppleSimulator: RunningProgram {}

extension TrafficSource {
    /// Sends so many requests over 32 connections, as fast as they are answered.
    /// - Parameter seconds: the time after which the rest is left out.
    func post(
        _ count: Int, to target: LoadTarget, seconds: Double, _ edit: (inout LoadPlan) -> Void = { _ in }
    ) async throws -> LoadMeasurements {
        var load = LoadPlan.closed(target, over: 32, seconds: seconds, requests: count)
        edit(&load)
        let measurements = try await LoadRun(load, self).run()
        try Task.checkCancellation()
        return measurements
    }
}

extension ServerAPIStats {
    /// The number of calls of all operations at both endpoints, whatever became of them.
    fileprivate var count: Int { calls.values.flatMap(\.values).flatMap(\.values).reduce(0, +) }
}

/// Clients of a fleet, each with an API key that the gateway makes.
struct FleetClients: Sendable {
    private(set) var keys: [String: String] = [:]
    let settings: [String: String]

    static let pepper = ["GATEWAY_API_KEY_PEPPER": "a pepper of at least thirty-two bytes"]

    /// - Parameters:
    ///   - policies: of each client by its name, as lines of YAML at the indentation of `keys:`; empty for no limits.
    ///   - file: the clients file that is written.
    ///   - rest: further lines of the file.
    init(
        _ policies: [(name: String, policies: String)], gatewayPath: String, file: String, rest: String = ""
    ) async throws {
        settings = Self.pepper + ["GATEWAY_CLIENTS_FILE": file]
        var text = "clients:\n"
        for (name, policies) in policies {
            let made = try await FinishedProgram.run(gatewayPath, ["hash-key"], environment: Self.pepper)
            guard made.status == 0, let key = made.errors.split(whereSeparator: \.isWhitespace).last else {
                throw made.status == 127
                    ? ProgramError.notStarted(path: gatewayPath) : FleetError.noKey(said: made.errors)
            }
            keys[name] = String(key)
            text += "  - name: \(name)\n    apps: \"*\"\n\(policies)    keys:\n\(made.output)\n"
        }
        try Data((text + rest).utf8).write(to: URL(filePath: file))
    }
}

enum FleetError: Error, Hashable, CustomStringConvertible {
    case redis(said: String)
    case noKey(said: String)

    var description: String {
        switch self {
        case .redis(let said): "Redis (redis-server, redis-cli, redis-benchmark) cannot be used: \(said)"
        case .noKey(let said): "The gateway made no API key: \(said)"
        }
    }
}
