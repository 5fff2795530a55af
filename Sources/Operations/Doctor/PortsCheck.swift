// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import NIOPosix
internal import Settings

/// Checks that the gateway can listen on its ports, by binding them for a moment.
struct PortsCheck {
    let configuration: GatewayConfiguration
    let report: CheckReport

    func run() async {
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
            // On another thread: a name that does not resolve would block this one.
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
