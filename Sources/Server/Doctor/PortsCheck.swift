// SPDX-License-Identifier: Apache-2.0

internal import Clients
internal import HTTPClient
internal import HTTPServer
internal import JSON
internal import NIOCore
internal import NIOPosix
internal import Settings

extension AreaCheck {
    /// Checks that the gateway can listen on its ports, by binding them for a moment.
    func checkPorts() async {
        let running = await runningVersion()
        await record("data", configuration.http.listener, setting: "GATEWAY_HTTP_PORT", running)
        await record("admin", configuration.admin, setting: "GATEWAY_ADMIN_PORT", running)
    }

    private func runningVersion() async -> String? {
        guard configuration.admin.port != 0, let gateway = try? LocalGateway(configuration.admin) else { return nil }
        return await gateway.version()
    }

    private func record(
        _ plane: String, _ listener: ListenerConfiguration, setting: String, _ running: String?
    ) async {
        let location = "\(listener.host.printable()) port \(listener.port)"
        switch await Self.errorOfListening(on: listener) {
        case nil where listener.port == 0: report.ok(plane, "port 0: the system chooses one and the log names it")
        case nil: report.ok(plane, "\(location) is free")
        case CLibrary.addressInUse?:
            if let running {
                return report.ok(plane, "\(location) is in use: receipt-gateway \(running) is already running")
            }
            report.fail(
                plane, "\(location) is in use by another process",
                do: "Stop it (`ss -ltnp` names it), or set \(setting).")
        case CLibrary.permissionDenied?:
            report.fail(
                plane, "this user may not listen on \(location)",
                do: "Set \(setting) to a port from 1024, or grant CAP_NET_BIND_SERVICE.")
        case CLibrary.addressNotAvailable?:
            report.fail(plane, "\(location): this machine has no such address", do: "Correct the host, or use 0.0.0.0.")
        case let other?:
            report.fail(
                plane, "cannot listen on \(location)" + (other == 0 ? "" : " (errno \(other))"),
                do: "Correct the host: an address of this machine, or a name that resolves to one.")
        }
    }

    /// Returns the system's `errno`, 0 if it gave none; nil if listening works.
    private static func errorOfListening(on listener: ListenerConfiguration) async -> CInt? {
        let bootstrap = ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
        do {
            // On another thread: a name that does not resolve would block this thread.
            let address = try await NIOThreadPool.singleton.runIfActive {
                try SocketAddress.makeAddressResolvingHost(listener.host, port: listener.port)
            }
            let channel = try await bootstrap.bind(to: address).get()
            try? await channel.close().get()
            return nil
        } catch {
            return (error as? IOError)?.errnoCode ?? 0
        }
    }
}

/// The gateway on this machine that runs with a configuration, seen through its admin plane.
struct LocalGateway: Sendable {
    private let transport: HTTPTransport
    private let base: String

    enum Limits {
        /// The time limit of a request: an event loop that needs longer is not alive.
        static let timeout: Duration = .seconds(2)
        static let answerBytes = 4 << 20
    }

    enum Condition: Hashable, Sendable {
        case healthy
        case unhealthy(status: Int, detail: String)
        case unreachable(TransportError)
    }

    /// - Parameter admin: the listener's address; a wildcard address is replaced by loopback.
    init(_ admin: ListenerConfiguration) throws(TransportError) {
        var configuration = TransportConfiguration()
        configuration.connectTimeout = Limits.timeout
        configuration.totalTimeout = Limits.timeout
        configuration.maximumResponseBytes = Limits.answerBytes
        (configuration.allowsPlainHTTP, configuration.allowsPrivateAddresses) = (true, true)
        configuration.acceptsAnyCertificate = true
        transport = try HTTPTransport(configuration)
        base = "\(admin.tls.isEnabled ? "https" : "http")://\(admin.reachableHost):\(admin.port)"
    }

    func condition(at path: String) async -> Condition {
        do throws(TransportError) {
            let answer = try await get(path)
            if answer.status == 200 { return .healthy }
            let detail = (try? JSONValue(parsing: answer.body))?["detail"]?.string ?? "no reason given"
            return .unhealthy(status: answer.status, detail: detail.printable(maximum: 300))
        } catch {
            return .unreachable(error)
        }
    }

    func version() async -> String? {
        guard let answer = try? await get("/metrics"), answer.status == 200 else { return nil }
        let text = String(decoding: answer.body, as: UTF8.self)
        let label = text.firstMatch(of: /receipt_gateway_build_info\{version="([^"]{1,40})"\}/)
        return label.map { String($0.output.1).printable() }
    }

    private func get(_ path: String) async throws(TransportError) -> TransportResponse {
        try await transport.send(TransportRequest(.get, url: base + path), deadline: .now + Limits.timeout)
    }
}

extension ListenerConfiguration {
    /// The address under which a local process reaches the listener, as in a URL.
    var reachableHost: String {
        switch host {
        case "0.0.0.0": "127.0.0.1"
        case "::", "[::]": "[::1]"
        case _ where host.contains(":") && !host.hasPrefix("["): "[\(host)]"
        default: host
        }
    }
}
