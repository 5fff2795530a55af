// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Settings
internal import Telemetry

/// Checks the system's limits for this process. A service may have other limits than a shell: run the doctor the way
/// the gateway runs.
struct LimitsCheck {
    let configuration: GatewayConfiguration
    let report: CheckReport

    enum Limits {
        /// Open files besides connections: libraries, event loops, the log.
        static let otherFiles = 64
        static let adminConnections = 256
        /// The minimum for an idle gateway.
        static let fewestFiles = 256
        /// The memory of an idle gateway.
        static let idleMemory = ByteCount.mebibytes(64)
        /// The share of the allowed memory above which load may exceed it.
        static let comfort = 0.8
    }

    func run() {
        noteFiles()
        noteMemory()
        noteCores()
    }

    private func noteFiles() {
        guard let maximum = ProcessStatistics.maximumFiles.flatMap({ Int(exactly: $0) }) else {
            return report.ok("files", "unlimited")
        }
        let connections = configuration.http.limits.connections
        let asking = configuration.apple.isEnabled ? 2 * configuration.apple.concurrency : 0
        let needed = connections + asking + Limits.adminConnections + Limits.otherFiles
        let seen =
            "\(maximum) may be open; \(connections) connections (gateway.http.limits.connections) and the rest take \(needed)"
        guard maximum < needed else { return report.ok("files", seen) }
        report.note(
            "files", maximum < Limits.fewestFiles ? .failed : .warning,
            "\(seen): at the limit no connection is accepted",
            "Raise the limit (ulimit -n, LimitNOFILE= of systemd), or lower the setting.")
    }

    private func noteMemory() {
        let parts = [
            configuration.nearCache.size, configuration.apple.cacheSize, configuration.http.limits.bodiesInFlight,
            Limits.idleMemory,
        ]
        let needed = ByteCount.bytes(parts.map(\.bytes).reduce(0, +))
        let seen =
            "caches \(parts[0].rounded) and \(parts[1].rounded), request bodies \(parts[2].rounded): up to \(needed.rounded)"
        guard let allowed = SystemLimits.memory else { return report.ok("memory", "\(seen); no limit is known") }
        let share = Double(needed.bytes) / Double(allowed.bytes)
        guard share > Limits.comfort else { return report.ok("memory", "\(seen) of \(allowed.rounded) allowed") }
        report.note(
            "memory", share > 1 ? .failed : .warning,
            "\(seen) of \(allowed.rounded) allowed: the system may kill the gateway",
            "Allow more, or lower gateway.cache.near.size, gateway.cache.apple.size or gateway.http.limits.bodies_in_flight."
        )
    }

    private func noteCores() {
        guard let cores = ProcessStatistics.allowedCores else { return report.ok("cores", "no limit is known") }
        guard let quota = SystemLimits.cores, quota < Double(cores) else {
            return report.ok("cores", "\(cores), with an event loop on each")
        }
        report.warn(
            "cores",
            "\(cores) usable, with a CPU quota of \((quota * 100).rounded() / 100): all stop when it is used up",
            do: "Responses are then delayed: raise the quota (CPU limit), or bind the gateway to as many cores.")
    }
}
