// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import FoundationEssentials
internal import Glibc

extension RunResult.Environment {
    /// This machine and this program.
    static func current() -> RunResult.Environment {
        RunResult.Environment(
            version: ReceiptLoadtest.configuration.version, revision: nil,
            arguments: withoutSecrets(CommandLine.arguments), cpu: processor,
            cores: sysconf(Int32(_SC_NPROCESSORS_CONF)),
            allowedCores: allowedCores(file("/proc/self/status")),
            kernel: file("/proc/sys/kernel/osrelease").trimmed, memoryBytes: memory(file("/proc/meminfo")))
    }

    /// Replaces values of header fields and keys, which may be secret.
    static func withoutSecrets(_ arguments: [String]) -> [String] {
        var hidesNext = false
        return arguments.map { argument in
            defer { hidesNext = ["-H", "--header", "--api-key"].contains(argument) }
            if hidesNext { return "..." }
            if argument.hasPrefix("-H") && argument.count > 2 { return "-H..." }
            for option in ["--header=", "--api-key="] where argument.hasPrefix(option) { return option + "..." }
            return argument
        }
    }

    /// Reads `Cpus_allowed_list:       0-3,6`.
    static func allowedCores(_ status: String) -> [Int] {
        let line = status.split(separator: "\n").first { $0.hasPrefix("Cpus_allowed_list:") } ?? ""
        let ranges = line.drop { $0 != ":" }.dropFirst().split(separator: ",")
        return ranges.flatMap { range in
            let ends = range.split(separator: "-").compactMap { Int(String($0).trimmed) }
            guard let first = ends.first, let last = ends.last, first <= last, last < 4096 else { return [Int]() }
            return Array(first...last)
        }
    }

    private static var processor: String {
        let line = file("/proc/cpuinfo").split(separator: "\n").first { $0.hasPrefix("model name") } ?? ""
        return String(line.drop { $0 != ":" }.dropFirst()).trimmed
    }

    private static func memory(_ information: String) -> Int {
        let line = information.split(separator: "\n").first { $0.hasPrefix("MemTotal:") } ?? ""
        return line.split(separator: " ").dropFirst().first.flatMap { Int($0) }.map { $0 * 1024 } ?? 0
    }

    private static func file(_ path: String) -> String { (try? String(contentsOfFile: path, encoding: .utf8)) ?? "" }
}

extension String {
    fileprivate var trimmed: String {
        guard let first = firstIndex(where: { !$0.isWhitespace }), let last = lastIndex(where: { !$0.isWhitespace })
        else { return "" }
        return String(self[first...last])
    }
}
