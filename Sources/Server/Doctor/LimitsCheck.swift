// SPDX-License-Identifier: Apache-2.0

internal import Clients
internal import Gateway
internal import HTTPServer
internal import Operations
internal import Settings
internal import Telemetry

extension AreaCheck {
    private enum Limits {
        /// Open files besides connections: libraries, event loops, the log.
        static let otherFiles = 64
        static let adminConnections = 256
        static let fewestFiles = 256
        static let idleMemory = ByteCount.mebibytes(64)
        /// The share of the allowed memory above which load may exceed it.
        static let comfort = 0.8
    }

    /// Checks the system's limits for this process. A service may have other limits than a shell: run the doctor the
    /// way the gateway runs.
    func checkLimits() {
        checkFiles()
        checkMemory()
        checkCores()
    }

    private func checkFiles() {
        guard let maximum = ProcessStatistics.maximumFiles.flatMap({ Int(exactly: $0) }) else {
            return report.ok("files", "unlimited")
        }
        let connections = configuration.http.limits.connections
        let forApple =
            configuration.apple.isEnabled ? UpstreamEndpoint.allCases.count * configuration.apple.concurrency : 0
        let needed = connections + forApple + Limits.adminConnections + Limits.otherFiles
        let seen =
            "\(maximum) may be open; \(connections) connections (gateway.http.limits.connections) and the rest take \(needed)"
        guard maximum < needed else { return report.ok("files", seen) }
        report.record(
            "files", maximum < Limits.fewestFiles ? .failed : .warning,
            "\(seen): at the limit no connection is accepted",
            "Raise the limit (ulimit -n, LimitNOFILE= of systemd), or lower the setting.")
    }

    private func checkMemory() {
        let parts = [
            configuration.nearCacheSize, configuration.signedItemCacheSize, configuration.apple.cacheSize,
            configuration.http.limits.bodiesInFlight, Limits.idleMemory,
        ].map(\.bytes)
        let needed = parts.reduce(0, +), texts = (parts + [needed]).map { StatusValue.bytes($0).text }
        let seen = "caches \(texts[0]), \(texts[1]) and \(texts[2]), request bodies \(texts[3]): up to \(texts[5])"
        guard let allowed = SystemLimits.memory else { return report.ok("memory", "\(seen); no limit is known") }
        let share = Double(needed) / Double(allowed), allowedText = StatusValue.bytes(allowed).text
        guard share > Limits.comfort else { return report.ok("memory", "\(seen) of \(allowedText) allowed") }
        report.record(
            "memory", share > 1 ? .failed : .warning,
            "\(seen) of \(allowedText) allowed: the system may kill the gateway",
            "Allow more, or lower the sizes in gateway.cache or gateway.http.limits.bodies_in_flight."
        )
    }

    private func checkCores() {
        let cores = ProcessStatistics.usableCores
        guard let quota = SystemLimits.cores, quota < Double(cores) else {
            return report.ok("cores", "\(cores), with an event loop on each")
        }
        report.warn(
            "cores",
            "\(cores) usable, with a CPU quota of \((quota * 100).rounded() / 100): all stop when it is used up",
            do: "Responses are then delayed: raise the quota (CPU limit), or bind the gateway to as many cores.")
    }
}

/// The limits of this machine and of this process's control group (cgroups(7), version 2).
enum SystemLimits {
    /// The memory limit: the lowest of the machine's and of all control groups above.
    static var memory: Int? {
        let groups = values("memory.max").compactMap { Int($0) }
        return (groups + [machineMemory].compactMap(\.self)).min()
    }

    static var cores: Double? {
        values("cpu.max").compactMap(quota).min()
    }

    /// Parses `50000 100000` (µs of each period); nil for `max 100000`.
    static func quota(_ text: String) -> Double? {
        let numbers = text.split(separator: " ").compactMap { Double($0) }
        guard numbers.count == 2, numbers[1] > 0 else { return nil }
        return numbers[0] / numbers[1]
    }

    /// Returns the folders of a control group and all above it, from `/proc/self/cgroup`:
    /// `0::/system.slice/gateway.service`.
    static func groups(_ text: String) -> [String] {
        let path = text.split(separator: "\n").first { $0.hasPrefix("0::/") }?.dropFirst(4) ?? ""
        let names = path.split(separator: "/").prefix(maximumDepth).filter { $0 != ".." }
        return (0...names.count).map { "/sys/fs/cgroup" + names.prefix($0).map { "/\($0)" }.joined() }
    }

    private static let maximumDepth = 32

    private static func values(_ name: String) -> [String] {
        groups(text("/proc/self/cgroup") ?? "").compactMap { text("\($0)/\(name)")?.withoutLineEnds }
    }

    /// The value of `MemTotal: 16384000 kB`.
    private static var machineMemory: Int? {
        let line = text("/proc/meminfo")?.split(separator: "\n").first { $0.hasPrefix("MemTotal:") }
        return (line?.split(separator: " ").dropFirst().first).flatMap { Int($0) }.map { $0 << 10 }
    }

    private static func text(_ path: String) -> String? { try? TextFile.read(path) }
}
