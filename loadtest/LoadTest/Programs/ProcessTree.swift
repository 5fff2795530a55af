// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Glibc

/// A process and those it started, as the kernel sees them (proc(5)).
struct ProcessTree: Sendable {
    let root: Int

    /// Processor time until now, of all that still run, in seconds.
    var cpuSeconds: Double { entries.map(\.cpuSeconds).reduce(0, +) }

    /// Memory in RAM of all together, in bytes.
    var residentBytes: Int {
        entries.map { entry in
            ProcessMemory(status: Self.text(of: "/proc/\(entry.process)/status"))?.resident ?? 0
        }.reduce(0, +)
    }

    /// Files that the first of them has open, connections among them.
    var openFiles: Int { (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(root)/fd").count) ?? 0 }

    private var entries: [ProcessEntry] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        let all = names.compactMap { Int($0) }.compactMap { ProcessEntry(stat: Self.text(of: "/proc/\($0)/stat")) }
        return Self.descendants(of: root, among: all)
    }

    /// A process and all below it.
    static func descendants(of root: Int, among all: [ProcessEntry]) -> [ProcessEntry] {
        var family: Set<Int> = [root], size = 0
        while size < family.count {
            size = family.count
            for entry in all where family.contains(entry.parent) { family.insert(entry.process) }
        }
        return all.filter { family.contains($0.process) }
    }

    private static func text(of path: String) -> String {
        (try? ByteFile(path: path).contents()).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }
}

/// A line of `/proc/PID/stat`.
struct ProcessEntry: Hashable, Sendable {
    let process: Int
    let parent: Int
    /// In user and in kernel mode.
    let cpuSeconds: Double

    private static let ticksPerSecond = Double(sysconf(Int32(_SC_CLK_TCK)))

    /// Reads `PID (NAME) STATE PPID ... UTIME STIME ...`; a name may hold spaces and brackets.
    init?(stat: String, ticksPerSecond: Double = ticksPerSecond) {
        guard let end = stat.lastIndex(of: ")"), let process = Int(stat.prefix { $0 != " " }) else { return nil }
        let fields = stat[end...].split(separator: " ")
        // Behind the bracket: state, parent, and eleven fields later the two times.
        guard fields.count > 13, let parent = Int(fields[2]), let user = Double(fields[12]),
            let system = Double(fields[13])
        else { return nil }
        self.process = process
        self.parent = parent
        cpuSeconds = (user + system) / ticksPerSecond
    }
}
