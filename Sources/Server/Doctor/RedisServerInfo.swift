// SPDX-License-Identifier: Apache-2.0

internal import Clients
internal import Operations

struct RedisServerInfo {
    private let fields: [Substring: Substring]

    /// CLIENT TRACKING and ACL users need it.
    private static let oldestMajorVersion = 6

    init(_ text: String) {
        let pairs = text.split(whereSeparator: \.isNewline).compactMap { line -> (Substring, Substring)? in
            let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            return parts.count == 2 ? (parts[0], parts[1]) : nil
        }
        fields = Dictionary(pairs) { first, _ in first }
    }

    func record(on report: CheckReport) {
        checkVersion(on: report)
        checkMemory(on: report)
    }

    private func checkVersion(on report: CheckReport) {
        let version = String(fields["valkey_version"] ?? fields["redis_version"] ?? "").printable()
        let name = fields["valkey_version"] == nil ? "Redis" : "Valkey"
        let major = (fields["redis_version"] ?? "").prefix { $0 != "." }
        guard let major = Int(major), major < Self.oldestMajorVersion else {
            return report.ok("server", "\(name) \(version)")
        }
        report.fail("server", "\(name) \(version) is too old", do: "The gateway needs Redis 6 or later.")
    }

    private func checkMemory(on report: CheckReport) {
        let policy = String(fields["maxmemory_policy"] ?? "").printable()
        guard let maximum = fields["maxmemory"].flatMap({ Int($0) }), !policy.isEmpty else {
            return report.ok("memory", "INFO does not report it")
        }
        let used = StatusValue.bytes(Int(fields["used_memory"] ?? "") ?? 0).text
        guard maximum > 0 else {
            return report.warn(
                "memory", "\(used) used, no limit: Redis grows until the system kills it",
                do: "Set maxmemory, and maxmemory-policy volatile-lru.")
        }
        let seen = "\(used) used of \(StatusValue.bytes(maximum).text), maxmemory-policy \(policy)"
        switch policy {
        case "volatile-lru", "volatile-lfu", "volatile-ttl", "volatile-random": report.ok("memory", seen)
        case "noeviction":
            report.warn(
                "memory", "\(seen): when it is full, no result is stored and no limit is shared",
                do: "Set maxmemory-policy volatile-lru, unless other applications use this Redis.")
        default:
            report.warn(
                "memory", "\(seen): notifications may be evicted, so POST /apple/notifications answers 503",
                do: "Set maxmemory-policy volatile-lru or noeviction.")
        }
    }
}
