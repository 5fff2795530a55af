// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import FoundationEssentials
internal import Glibc

extension RunResult.Environment {
    static func current() -> RunResult.Environment {
        RunResult.Environment(
            version: ReceiptLoadtest.configuration.version, revision: nil,
            arguments: withoutSecrets(CommandLine.arguments), cpu: KernelFile("/proc/cpuinfo")["model name"],
            cores: sysconf(Int32(_SC_NPROCESSORS_CONF)),
            allowedCores: allowedCores(KernelFile("/proc/self/status")),
            kernel: KernelFile("/proc/sys/kernel/osrelease").text.trimmed,
            memoryBytes: KernelFile("/proc/meminfo").bytes("MemTotal") ?? 0)
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
    static func allowedCores(_ status: KernelFile) -> [Int] {
        status["Cpus_allowed_list"].split(separator: ",").flatMap { range in
            let ends = range.split(separator: "-").compactMap { Int($0) }
            guard let first = ends.first, let last = ends.last, first <= last, last < 4096 else { return [Int]() }
            return Array(first...last)
        }
    }
}

/// A text of the kernel's, most often with lines of the form `name: value` (proc(5)).
struct KernelFile {
    let text: String

    /// The value of the first line with a name; empty without such a line.
    subscript(_ name: String) -> String {
        let line = text.split(separator: "\n").first { $0.hasPrefix(name) } ?? ""
        return String(line.drop { $0 != ":" }.dropFirst()).trimmed
    }

    /// Returns an amount of memory such as `2204 kB`, where kB stands for 1024 bytes.
    func bytes(_ name: String) -> Int? { Int(self[name].prefix { $0 != " " }).map { $0 * 1024 } }
}

extension KernelFile {
    /// Reads a file; an unreadable file is empty.
    init(_ path: String) {
        self.init(text: (try? String(contentsOfFile: path, encoding: .utf8)) ?? "")
    }
}

extension String {
    fileprivate var trimmed: String {
        guard let first = firstIndex(where: { !$0.isWhitespace }), let last = lastIndex(where: { !$0.isWhitespace })
        else { return "" }
        return String(self[first...last])
    }
}
