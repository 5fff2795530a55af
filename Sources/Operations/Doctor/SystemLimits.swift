// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Settings

/// The limits of this machine and of this process's control group (cgroups(7), version 2).
enum SystemLimits {
    /// The memory limit: the lowest of the machine's and of all control groups above.
    static var memory: ByteCount? {
        let groups = values("memory.max").compactMap { Int($0) }
        return (groups + [machineMemory].compactMap(\.self)).min().map { .bytes($0) }
    }

    /// The CPU quota in cores; nil for none.
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
