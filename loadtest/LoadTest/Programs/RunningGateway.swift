// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials

/// A gateway of its own, on free ports of this machine.
struct RunningGateway: RunningProgram {
    /// Where clients ask.
    let dataPort: Int
    /// Where metrics are.
    let adminPort: Int
    let program: ChildProgram

    /// Starts the program and waits until both its listeners are open.
    ///
    /// - Parameter core: the only core it may use; nil for those that this process has.
    static func start(
        _ path: String, _ configuration: [String: String], core: Int? = nil
    ) async throws -> RunningGateway {
        let ports = [
            "GATEWAY_HTTP_PORT": "0", "GATEWAY_ADMIN_PORT": "0", "GATEWAY_SHUTDOWN_DRAIN_DELAY": "0s",
            "GATEWAY_SHUTDOWN_GRACE": "1s",
        ]
        let program = try ChildProgram(
            path, ["serve"], environment: ports.merging(configuration) { $1 }, core: core, reading: .standardError)
        var open: [String: Int] = [:]
        let places = try await Startup.wait(for: program, at: path) { line -> [String: Int]? in
            guard let event = try? JSONDecoder().decode(Listening.self, from: Data(line.utf8)) else { return nil }
            open[event.plane] = event.port
            return open.count == 2 ? open : nil
        }
        return RunningGateway(dataPort: places["data"] ?? 0, adminPort: places["admin"] ?? 0, program: program)
    }

    /// The line of the log that tells of a listener.
    private struct Listening: Decodable {
        let plane: String
        let port: Int
    }

    func stop() async {
        await program.stop()
    }
}

extension RunningGateway {
    /// What a gateway is told that is to trust this root in production, and to ask this Apple.
    static func configuration(
        root: String, productionURL: String, sandboxURL: String
    ) -> [String: String] {
        [
            "GATEWAY_TRUST_ROOTS": root + "=Production", "GATEWAY_APPLE_PRODUCTION_URL": productionURL,
            "GATEWAY_APPLE_SANDBOX_URL": sandboxURL,
            // Any will do: the simulated Apple does not ask for a certain one.
            "GATEWAY_APPLE_SHARED_SECRET": "0123456789abcdef0123456789abcdef",
        ]
    }
}
