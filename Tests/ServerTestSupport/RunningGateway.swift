// SPDX-License-Identifier: Apache-2.0

import Cryptography
import Logging
import Receipts
import ServiceLifecycle
import Synchronization
import TestSupport

@testable import Clients
@testable import HTTPServer
@testable import Server
@testable import Settings
@testable import Telemetry

/// A whole gateway in this process, on ports chosen by the system.
struct RunningGateway: Surroundings {
    @TaskLocal private static var running: RunningGateway?
    static var local: TaskLocal<RunningGateway?> { $running }

    let port: Int
    let adminPort: Int
    let server: GatewayServer
    let log: LogLines
    private let orders: AsyncStream<ShutdownRequest>.Continuation

    /// Stops the gateway, as a signal would.
    func order(_ request: ShutdownRequest) {
        orders.yield(request)
    }

    /// Runs a gateway around `body`, and waits until it has stopped.
    /// - Parameter roots: certificates in PEM, which the gateway trusts for production and the sandbox.
    static func with(
        trusting roots: [String] = [], _ change: (inout GatewayConfiguration) -> Void = { _ in },
        dependencies changeDependencies: (inout Dependencies) -> Void = { _ in },
        isolation: isolated (any Actor)? = #isolation,
        _ body: (RunningGateway) async throws -> Void
    ) async throws {
        var configuration = GatewayConfiguration()
        (configuration.http.listener.port, configuration.admin.port) = (0, 0)
        // The host of most requests in the tests.
        (configuration.http.hostNames, configuration.adminHostNames) = (HostNames(["x"]), HostNames(["x"]))
        // Nothing times out unless a test says so, however busy the machine is.
        configuration.http.deadlines = HTTPDeadlines(
            handshake: .seconds(3600), headers: .seconds(3600), request: .seconds(3600), answer: .seconds(3600),
            idle: .seconds(3600))
        (configuration.shutdown.drainDelay, configuration.shutdown.grace) = (.zero, .seconds(3600))
        // Tests use this machine only.
        configuration.apple.isEnabled = false
        let folder = try TemporaryFolder()
        configuration.trustRoots = try roots.enumerated().map { number, pem in
            TrustRoot(path: try folder.write(pem, to: "\(number).pem"), environments: [.production, .sandbox])
        }
        change(&configuration)
        let (requests, orders) = AsyncStream.makeStream(of: ShutdownRequest.self)
        let (ports, listening) = AsyncStream.makeStream(of: (ListenerPlane, Int).self)
        let log = LogLines()
        let settings = LogSettings(configuration.log.values)
        var dependencies = Dependencies(
            logger: Logger(label: "test") {
                JSONLogHandler(
                    label: $0, settings: settings, metadataProvider: .currentRequest, write: log.append)
            },
            logSettings: settings, requestLines: LogBatcher(limits: .eachLine, handOn: log.append),
            shutdownRequests: requests, onListening: { listening.yield(($0, $1)) })
        changeDependencies(&dependencies)
        let server = try buildGatewayServer(configuration, in: dependencies)
        let running = Task { try await server.services.run() }
        var open: [ListenerPlane: Int] = [:]
        for await (listener, port) in ports {
            open[listener] = port
            if open.count == 2 { break }
        }
        let gateway = RunningGateway(
            port: open[.data] ?? 0, adminPort: open[.admin] ?? 0, server: server, log: log, orders: orders)
        let outcome: Result<Void, any Error>
        do { outcome = .success(try await body(gateway)) } catch { outcome = .failure(error) }
        orders.yield(.interrupt)
        try await running.value
        try outcome.get()
    }
}

extension RunningGateway {
    /// The pepper of the keys in clients files.
    static let pepper = Secret("a pepper for the tests")

    /// Runs a gateway with one client, whose entry in the clients file has these fields.
    /// - Parameter rest: the lines after this client.
    static func withClient(
        _ key: APIKey, _ fields: String..., rest: String = "", trusting roots: [String] = [],
        change: (inout GatewayConfiguration) -> Void = { _ in },
        dependencies changeDependencies: (inout Dependencies) -> Void = { _ in },
        _ body: (RunningGateway) async throws -> Void
    ) async throws {
        let entry = (["  - name: shop"] + fields + ["keys:"]).joined(separator: "\n    ")
        let folder = try TemporaryFolder(), keys = key.clientsFileSnippet(hasher: KeyHasher(pepper: pepper))
        let file = try folder.write("clients:\n\(entry)\n\(keys)\n\(rest)", to: "clients.yaml")
        try await with(
            trusting: roots,
            { configuration in
                (configuration.clientsFile, configuration.apiKeyPepper) = (file, pepper)
                change(&configuration)
            }, dependencies: changeDependencies, body)
    }

    /// Sends a request; `line` is its method and target. Without a port it goes to the data plane.
    func ask(
        _ line: String, _ fields: [String] = [], body: String = "", port: Int? = nil
    ) async throws -> RawAnswer? {
        let head = ["\(line) HTTP/1.1", "Host: x", "Content-Length: \(body.utf8.count)"] + fields
        return try await send(head.joined(separator: "\r\n") + "\r\n\r\n" + body, port: port)
    }

    /// Sends JSON, with an API key if there is one.
    func post(
        _ path: String, _ fields: [String] = [], as key: APIKey? = nil, body: String
    ) async throws -> RawAnswer? {
        let credentials = key.map { ["X-API-Key: \($0.exposed)"] } ?? []
        return try await ask("POST \(path)", ["Content-Type: application/json"] + credentials + fields, body: body)
    }

    func send(_ request: String, port other: Int? = nil) async throws -> RawAnswer? {
        try await RawConnection.with(port: other ?? port) { connection in
            try await connection.send(request)
            return try await connection.answer()
        }
    }

    /// Returns the page of metrics.
    func scrape() async throws -> String {
        try await ask("GET /metrics", port: adminPort)?.body ?? ""
    }
}

extension LogBatcher.Limits {
    /// Writes each line at once, for tests that look for it.
    static let eachLine = LogBatcher.Limits(batch: .bytes(0))
}

/// The lines that a logger wrote.
final class LogLines: Sendable {
    private let lines = Mutex<[String]>([])

    @Sendable func append(_ bytes: [UInt8]) {
        lines.withLock { $0.append(String(decoding: bytes, as: UTF8.self)) }
    }

    func containing(_ text: String) -> [String] {
        lines.withLock { $0.filter { $0.contains(text) } }
    }
}
