// SPDX-License-Identifier: Apache-2.0

internal import AppleSimulator
internal import LoopbackPorts
internal import NIOCore
internal import NIOHTTP1
internal import NIOSSL
internal import ReceiptForge
internal import Synchronization

/// A server on the loopback interface that receives webhooks, with an endpoint at each of some ports, and one port for
/// control requests.
final class WebhookReceiver: Sendable {
    struct Plan: Sendable {
        var endpoints: [ReceiverEndpoint.Plan]
        /// The port of control requests; 0 for any free port.
        var controlPort = 0
        /// The certificate of the endpoints; nil for HTTP without TLS.
        var tls: TLSIdentity?
    }

    let endpoints: [ReceiverEndpoint]
    private let tls: NIOSSLContext?
    private let listeners = Mutex<[String: ReceiverListener]>([:])
    /// Also reserved while an endpoint is down.
    private let ports: [String: ReservedPort]
    private let control = Mutex<ReceiverListener?>(nil)

    private init(_ plan: Plan) throws {
        tls = try plan.tls.map(NIOSSLContext.init(serving:))
        endpoints = plan.endpoints.map(ReceiverEndpoint.init)
        ports = try Dictionary(
            uniqueKeysWithValues: endpoints.map { ($0.name, try LoopbackServer.reserve($0.plan.port)) })
    }

    static func start(_ plan: Plan) async throws -> WebhookReceiver {
        let receiver = try WebhookReceiver(plan)
        for endpoint in receiver.endpoints { try await receiver.followFault(of: endpoint) }
        let control = try await ReceiverListener.start(at: LoopbackServer.reserve(plan.controlPort), nil) {
            receiver.controlHandler
        }
        receiver.control.withLock { $0 = control }
        return receiver
    }

    var controlURL: String { "http://127.0.0.1:\(control.withLock { $0?.port } ?? 0)" }

    func url(of endpoint: ReceiverEndpoint) -> String {
        let scheme = tls == nil ? "http" : "https"
        return "\(scheme)://127.0.0.1:\(ports[endpoint.name]?.number ?? 0)\(endpoint.path)"
    }

    subscript(name: String) -> ReceiverEndpoint? { endpoints.first { $0.name == name } }

    /// Replaces the fault of an endpoint; returns when its listener is as the fault requires.
    func set(_ fault: ReceiverFault, of endpoint: ReceiverEndpoint, requests: Int? = nil) async throws {
        endpoint.set(fault, requests: requests)
        try await followFault(of: endpoint)
    }

    /// Closes or opens the listener of an endpoint.
    private func followFault(of endpoint: ReceiverEndpoint) async throws {
        if endpoint.fault == .down {
            await listeners.withLock { $0.removeValue(forKey: endpoint.name) }?.stop()
        } else if listeners.withLock({ $0[endpoint.name] == nil }), let port = ports[endpoint.name] {
            let listener = try await ReceiverListener.start(at: port, tls) { .of(endpoint) }
            listeners.withLock { $0[endpoint.name] = listener }
        }
    }

    /// Closes all connections and listeners.
    func stop() async {
        for listener in listeners.withLock({ exchange(&$0, with: [:]) }).values { await listener.stop() }
        await control.withLock(\.self)?.stop()
    }
}

// MARK: - Control requests

extension WebhookReceiver: RunningProgram {
    struct EndpointStats: Hashable, Sendable, Codable {
        let url: String
        let counts: DeliveryTally.Counts
        /// A digest of the order within each original transaction: equal at endpoints that received the same events.
        let orderDigest: String
        /// The time from the first to the last delivery that was taken.
        let seconds: Double
    }

    var stats: [String: EndpointStats] {
        let pairs = endpoints.map { endpoint in
            let tally = endpoint.tally
            let seconds = tally.first.flatMap { first in tally.last.map { ($0 - first).seconds } } ?? 0
            let stats = EndpointStats(
                url: url(of: endpoint), counts: tally.counts, orderDigest: String(tally.order, radix: 16),
                seconds: seconds.rounded(toDecimals: 3))
            return (endpoint.name, stats)
        }
        return Dictionary(pairs) { first, _ in first }
    }

    private var controlHandler: ReceiverHandler {
        ReceiverHandler { [self] head, body in
            do {
                return try respond(head.method, head.uri, String(decoding: body ?? [], as: UTF8.self))
            } catch {
                return .text("\(error)", .unprocessableEntity)
            }
        }
    }

    private func respond(_ method: HTTPMethod, _ path: String, _ body: String) throws -> ReceiverResponse {
        switch (method, path) {
        case (.GET, "/stats"):
            return ReceiverResponse(
                headers: ["Content-Type": "application/json"], body: Array(try JSONOutput.of(stats).utf8))
        case (.DELETE, "/stats"):
            for endpoint in endpoints { endpoint.reset() }
            return ReceiverResponse(status: .noContent)
        case (.PUT, "/control"): return carryOut(try ReceiverControl(body))
        default: return .text("Supported: GET and DELETE /stats, PUT /control.", .notFound)
        }
    }

    /// Changes a fault. A listener closes or opens a moment after the answer.
    private func carryOut(_ control: ReceiverControl) -> ReceiverResponse {
        guard let endpoint = self[control.endpoint] else {
            let known = endpoints.map(\.name).joined(separator: ", ")
            return .text("No endpoint has this name; known are \(known).", .unprocessableEntity)
        }
        endpoint.set(control.fault, requests: control.requests)
        Task { try await followFault(of: endpoint) }
        return ReceiverResponse(status: .noContent)
    }
}

extension ReceiverResponse {
    fileprivate static func text(_ line: String, _ status: HTTPResponseStatus) -> ReceiverResponse {
        ReceiverResponse(status: status, body: Array("\(line)\n".utf8))
    }
}

// MARK: - Listeners

struct ReceiverListener: Sendable {
    /// The open connections; one more is closed at once.
    private static let maximumConnections = 4096

    private let server: LoopbackServer
    private let connections: Connections
    var port: Int { server.port }

    static func start(
        at port: ReservedPort, _ tls: NIOSSLContext?, _ handler: @escaping @Sendable () -> ReceiverHandler
    ) async throws(SimulatorError) -> ReceiverListener {
        let connections = Connections(maximumConnections: maximumConnections)
        let server = try await LoopbackServer.start(at: port, connections) { channel in
            let pipeline = channel.pipeline.syncOperations
            if let tls { try pipeline.addHandler(NIOSSLServerHandler(context: tls)) }
            try pipeline.configureHTTPServerPipeline()
            try pipeline.addHandler(handler())
        }
        return ReceiverListener(server: server, connections: connections)
    }

    /// Refuses connections, and closes open connections.
    func stop() async {
        await server.stop()
        await connections.closeAll()
    }
}
