// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Settings

/// What this machine and the control group of this process (cgroups(7), version 2) allow.
enum SystemLimits {
    /// The memory that may be used: the least of the machine's and of what each control group above allows.
    static var memory: ByteCount? {
        let groups = values("memory.max").compactMap { Int($0) }
        return (groups + [machineMemory].compactMap(\.self)).min().map { .bytes($0) }
    }

    /// How many cores' time may be used; nil for any.
    static var cores: Double? {
        values("cpu.max").compactMap(quota).min()
    }

    /// `50000 100000`: so many µs of each period; `max 100000` for any.
    static func quota(_ text: String) -> Double? {
        let numbers = text.split(separator: " ").compactMap { Double($0) }
        guard numbers.count == 2, numbers[1] > 0 else { return nil }
        return numbers[0] / numbers[1]
    }

    /// The folders of a control group and of all above it, from `/proc/self/cgroup`: `0::/system.slice/gateway.service`.
    static func groups(_ text: String) -> [String] {
        let path = text.split(separator: "\n").first { $0.hasPrefix("0::/") }?.dropFirst(4) ?? ""
        let names = path.split(separator: "/").prefix(maximumDepth).filter { $0 != ".." }
        return (0...names.count).map { "/sys/fs/cgroup" + names.prefix($0).map { "/\($0)" }.joined() }
    }

    /// Deeper than any system nests them.
    private static let maximumDepth = 32

    private static func values(_ name: String) -> [String] {
        groups(text("/proc/self/cgroup") ?? "").compactMap { text("\($0)/\(name)")?.withoutLineEnds }
    }

    /// `MemTotal: 16384000 kB`.
    private static var machineMemory: Int? {
        let line = text("/proc/meminfo")?.split(separator: "\n").first { $0.hasPrefix("MemTotal:") }
        return (line?.split(separator: " ").dropFirst().first).flatMap { Int($0) }.map { $0 << 10 }
    }

    private static func text(_ path: String) -> String? { try? TextFile.read(path) }
}
