// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import AppleSimulator
internal import ReceiptForge

/// Everything a scenario runs against. What was started is ended by `stop`, whatever happened in between.
actor ScenarioFleet: RunningProgram {
    private let shape: FleetShape
    private let gatewayPath: String
    private let folder: ScratchFolder
    private var ports: [(data: Int, admin: Int)] = []
    private var gateways: [RunningGateway?] = []
    private var settings: [String: String] = [:]
    private var redis: RunningRedis?
    private var redisPort = 0
    private var balancer: ListeningProgram?
    private let apple: AppleSimulator?

    /// Starts all of it.
    static func start(_ shape: FleetShape, gatewayPath: String) async throws -> ScenarioFleet {
        let pki = ForgedPKI(seed: CorpusCommand.defaultSeed)
        var apple: AppleSimulator?
        if let scenario = shape.apple {
            var configuration = AppleSimulator.Configuration(pki: pki)
            configuration.scenario = scenario
            apple = try await AppleSimulator.start(configuration)
        }
        let folder: ScratchFolder
        do { folder = try ScratchFolder() } catch {
            await apple?.stop()
            throw error
        }
        let fleet = ScenarioFleet(shape, gatewayPath, folder, apple)
        do {
            try await fleet.begin(root: folder.write(pki.rootPEM, to: "root.pem"))
        } catch {
            await fleet.stop()
            throw error
        }
        return fleet
    }

    private init(_ shape: FleetShape, _ gatewayPath: String, _ folder: ScratchFolder, _ apple: AppleSimulator?) {
        self.shape = shape
        self.gatewayPath = gatewayPath
        self.folder = folder
        self.apple = apple
    }

    private func begin(root: String) async throws {
        if shape.hasRedis {
            redisPort = try await FreePort.find()
            redis = try await RunningRedis.start(port: redisPort)
        }
        settings = configuration(root: root).merging(shape.settings) { $1 }
        let free = try await FreePort.find(2 * shape.gateways)
        for number in 0..<shape.gateways {
            ports.append((free[2 * number], free[2 * number + 1]))
            gateways.append(try await startGateway(number))
        }
        if shape.hasBalancer { balancer = try await startBalancer() }
    }

    /// Ends everything that was started.
    func stop() async {
        await balancer?.stop()
        for gateway in gateways { await gateway?.stop() }
        await redis?.stop()
        await apple?.stop()
        folder.remove()
        (balancer, gateways, redis) = (nil, [], nil)
    }

    /// Where clients ask.
    var clientPort: Int { balancer?.port ?? ports[0].data }
    /// Where the metrics of each gateway are.
    var adminPorts: [Int] { ports.map(\.admin) }
    /// Calls of Apple's endpoints until now; 0 if nobody asks Apple.
    var questions: Int { (apple?.stats).map { $0.production + $0.sandbox } ?? 0 }

    /// Does what an event says, and returns when it is done.
    func carryOut(_ action: LoadScenario.Action) async throws {
        switch action {
        case .killRedis: await redis?.kill()
        case .startRedis:
            await redis?.kill()
            redis = try await RunningRedis.start(port: redisPort)
        case .restartGateway(let number):
            await gateways[number - 1]?.stop()
            gateways[number - 1] = try await startGateway(number - 1)
        case .apple(let scenario): apple?.play(scenario)
        }
    }
}

extension ScenarioFleet {
    /// Longer than the balancer takes to notice: two looks, 300 ms each.
    private static let drain = ["GATEWAY_SHUTDOWN_DRAIN_DELAY": "1s", "GATEWAY_SHUTDOWN_GRACE": "5s"]

    private func startGateway(_ number: Int) async throws -> RunningGateway {
        let places = [
            "GATEWAY_HTTP_PORT": "\(ports[number].data)", "GATEWAY_ADMIN_PORT": "\(ports[number].admin)",
        ]
        return try await RunningGateway.start(gatewayPath, settings.merging(places) { $1 })
    }

    private func configuration(root: String) -> [String: String] {
        var settings = shape.hasBalancer ? Self.drain : [:]
        settings["GATEWAY_TRUST_ROOTS"] = root + "=Sandbox+Production"
        settings["GATEWAY_LOG_REQUESTS"] = "none"
        if shape.hasRedis {
            settings["GATEWAY_REDIS_URL"] = "redis://127.0.0.1:\(redisPort)"
            // Any will do: 32 bytes in base64.
            settings["GATEWAY_CACHE_KEYS"] = "k1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
        }
        guard let apple else { return settings.merging(["GATEWAY_APPLE_ENABLED": "false"]) { $1 } }
        let configuration = RunningGateway.configuration(
            root: root, productionURL: apple.productionURL, sandboxURL: apple.sandboxURL)
        return configuration.merging(settings) { $1 }
    }

    private func startBalancer() async throws -> ListeningProgram {
        let port = try await FreePort.find()
        let file = try folder.write(balancerConfiguration(port: port), to: "haproxy.cfg")
        return try await ListeningProgram.start("haproxy", ["-db", "-f", file], port: port)
    }

    /// A request is tried at another gateway when its own went away before the answer: asking twice about a receipt does
    /// no harm.
    private func balancerConfiguration(port: Int) -> String {
        let servers = ports.enumerated().map { number, ports in
            "    server gateway\(number + 1) 127.0.0.1:\(ports.data) check port \(ports.admin)"
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
