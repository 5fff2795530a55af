// SPDX-License-Identifier: Apache-2.0

internal import Clients
internal import Customers
internal import Operations

struct RedisServerInfo {
    private let fields: [Substring: Substring]

    /// CLIENT TRACKING and ACL users need it.
    private static let oldestMajorVersion = 6
    private static let diskAdvice = "See the log of Redis: free space, or correct the permissions of its folder."

    init(_ text: String) {
        let pairs = text.split(whereSeparator: \.isNewline).compactMap { line -> (Substring, Substring)? in
            let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            return parts.count == 2 ? (parts[0], parts[1]) : nil
        }
        fields = Dictionary(pairs) { first, _ in first }
    }

    /// - Parameter isUsed: true if Redis keeps data that no other system can restore.
    /// - Returns: what the fields say about such data.
    func record(on report: CheckReport, isUsed: Bool) -> StoreFinding {
        checkVersion(on: report)
        checkMemory(on: report)
        checkPersistence(on: report, isUsed: isUsed)
        return evictingPolicy.map { .evicts($0, isUsed: isUsed) } ?? .kept(isPersistent: isAppending)
    }

    private var policy: String { String(fields["maxmemory_policy"] ?? "unknown").printable() }

    /// The policy, if it lets Redis evict what never expires, or if it is unknown: the gateway then expects that.
    private var evictingPolicy: String? { policy == "noeviction" || policy.hasPrefix("volatile-") ? nil : policy }

    /// True if a restart of Redis loses nothing that is kept; nil if INFO does not say.
    private var isAppending: Bool? { fields["aof_enabled"].map { $0 == "1" } }

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
        guard let maximum = fields["maxmemory"].flatMap({ Int($0) }), fields["maxmemory_policy"] != nil else {
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
        case _ where evictingPolicy != nil:
            report.warn(
                "memory", "\(seen): notifications may be evicted, so POST /apple/notifications answers 503",
                do: NotificationStoreFault.evictionAdvice)
        case "noeviction":
            report.warn(
                "memory", "\(seen): when it is full, no result is stored and no limit is shared",
                do: "Set maxmemory-policy volatile-lru, unless other applications use this Redis.")
        default: report.ok("memory", seen)
        }
    }

    private func checkPersistence(on report: CheckReport, isUsed: Bool) {
        guard let isAppending else { return report.ok("persistence", "INFO does not report it") }
        if failed("aof_last_write_status") {
            return report.fail(
                "persistence", "Redis cannot write its append-only file, and refuses every write (MISCONF)",
                do: Self.diskAdvice)
        }
        if failed("rdb_last_bgsave_status") {
            return report.warn(
                "persistence", "the last snapshot of Redis failed: with `save` it refuses every write (MISCONF)",
                do: Self.diskAdvice)
        }
        switch (isAppending, isUsed) {
        case (true, _): report.ok("persistence", "appendonly yes: a restart of Redis loses nothing")
        case (false, false):
            report.ok(
                "persistence",
                "appendonly no, which is right for cached answers and limits. Notifications, deferred verifications and "
                    + "`ownership` need appendonly yes")
        case (false, true):
            report.warn(
                "persistence",
                "appendonly no: a restart of Redis loses notifications, events, deferred verifications and owners of "
                    + "purchases",
                do: "Set appendonly yes and appendfsync everysec.")
        }
    }

    private func failed(_ status: Substring) -> Bool { fields[status].map { $0 != "ok" } ?? false }
}
