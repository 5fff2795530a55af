// SPDX-License-Identifier: Apache-2.0

import Foundation
import LoopbackPorts
import RealServers
import Synchronization
import Testing

/// One gateway of a fleet, at ports that stay the same after a restart.
final class FleetNode: Sendable {
    let backend: RealServer.Backend
    private let reserved: [ReservedPort]
    private let settings: Mutex<[String: String]>
    private let gateway: Mutex<RunningGateway?>

    init(_ settings: [String: String]) async throws {
        reserved = [try ReservedPort(), try ReservedPort()]
        backend = RealServer.Backend(dataPort: reserved[0].number, adminPort: reserved[1].number)
        let ports = [
            "GATEWAY_HTTP_PORT": "\(backend.dataPort)", "GATEWAY_ADMIN_PORT": "\(backend.adminPort)",
        ]
        self.settings = Mutex(settings.merging(ports) { $1 })
        gateway = Mutex(nil)
        try await start()
    }

    var running: RunningGateway {
        get throws { try #require(gateway.withLock { $0 }, "the node was ended") }
    }

    /// Starts it.
    /// - Parameter changes: settings that replace others, also for later starts.
    func start(_ changes: [String: String] = [:]) async throws {
        let settings = settings.withLock { settings in
            settings.merge(changes) { $1 }
            return settings
        }
        let started = try await RunningGateway(settings)
        gateway.withLock { $0 = started }
    }

    /// Kills it, like a crash.
    func kill() async throws {
        try await running.kill()
        gateway.withLock { $0 = nil }
    }

    /// Stops it, if it runs, and returns its exit status.
    func stop() async -> Int32? {
        let running = gateway.withLock { $0 }
        return await running?.stop()
    }

    /// Returns true if it accepts requests.
    func isReady() async throws -> Bool {
        try await running.get("/readyz", port: backend.adminPort).status == 200
    }

    /// Returns the sum of all series of a metric with these labels.
    func sum(_ name: String, _ labels: [String: String] = [:]) async throws -> Double {
        try await Scrape(running).sum(name, labels)
    }
}

extension Scrape {
    /// Returns the sum of all series of one of the gateway's metrics with these labels.
    func sum(_ name: String, _ labels: [String: String] = [:]) -> Double {
        values.filter { series, _ in
            let parts = series.split(separator: "{", maxSplits: 1)
            return parts[0] == "receipt_gateway_" + name
                && labels.allSatisfy { parts.count == 2 && parts[1].contains("\($0)=\"\($1)\"") }
        }
        .values.reduce(0, +)
    }
}
