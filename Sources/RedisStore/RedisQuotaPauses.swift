// SPDX-License-Identifier: Apache-2.0

internal import Gateway
internal import JSON
internal import Receipts
internal import Redis
internal import Synchronization

/// The pauses of the App Store Server API's quotas, in Redis: one key per paused quota.
///
/// A key is `gw:pause:<name>`, with a pseudonymous name. Its value is the quota, sealed, because Redis must not reveal
/// the app; its time to live is the rest of the pause. Nodes read only keys that Redis announces as changed. A node that
/// misses an announcement, or starts later, receives the pause in Apple's reply to its next call. So little is lost: a
/// pause lasts an hour at most.
final class RedisQuotaPauses: Sendable {
    private let store: any RedisCommands
    private let names: StoreNames
    private let seal: StoreSeal
    private let guards: UpstreamGuards
    private let metrics: StoreMetrics
    private let changed: ChangedQuotaPauses
    /// The ends of the pauses that this node has not published yet.
    private let unpublished = Mutex<[ServerAPIQuota: ContinuousClock.Instant]>([:])

    enum Limits {
        /// Pauses that wait to be published. Beyond this limit, the other nodes receive a pause from Apple.
        static let unpublished = 1024
        /// The maximum size of a sealed value; a bundle ID has at most 155 characters.
        static let valueBytes = 1024
    }

    /// - Parameter changed: the announced names, which `exchange` reads.
    init(
        _ store: any RedisCommands, names: StoreNames, seal: StoreSeal, guards: UpstreamGuards,
        metrics: StoreMetrics, changed: ChangedQuotaPauses
    ) {
        self.store = store
        self.names = names
        self.seal = seal
        self.guards = guards
        self.metrics = metrics
        self.changed = changed
    }

    /// Records a pause for the next exchange.
    func record(_ pause: Duration, of quota: ServerAPIQuota) {
        let longest = Duration.milliseconds(RedisFleetState.Limits.pauseMilliseconds)
        record(quota, until: .now + min(pause, longest))
    }

    private func record(_ quota: ServerAPIQuota, until end: ContinuousClock.Instant) {
        let isRecorded = unpublished.withLock { unpublished in
            guard unpublished.count < Limits.unpublished || unpublished[quota] != nil else { return false }
            unpublished[quota] = max(unpublished[quota] ?? end, end)
            return true
        }
        if !isRecorded { metrics.count(.pause, .lost) }
    }

    func exchange() async {
        await publishRecorded()
        await readChanged()
    }

    // MARK: - Publishing

    /// Publishes the recorded pauses. Pauses that Redis does not take are kept for the next exchange.
    private func publishRecorded() async {
        for (quota, end) in unpublished.exchange([:]) where await !publish(quota, until: end) {
            record(quota, until: end)
        }
    }

    /// - Returns: false if Redis did not reply.
    private func publish(_ quota: ServerAPIQuota, until end: ContinuousClock.Instant) async -> Bool {
        let left = ContinuousClock.now.duration(to: end).wholeMilliseconds, key = key(of: quota)
        let sealed = seal.seal(quota.stored, for: key)
        guard left > 0, sealed.count <= Limits.valueBytes else { return true }
        let reply = try? await store.run(
            RedisFleetState.pause, keys: [RedisWord(key)], left, RedisFleetState.Limits.pauseSlackMilliseconds,
            RedisWord(sealed))
        if reply == nil { metrics.count(.pause, .lost) }
        return reply != nil
    }

    private func key(of quota: ServerAPIQuota) -> String {
        RedisFleetState.pausePrefix + names.name("quota pause", [quota.stored])
    }

    // MARK: - Reading

    /// Reads the announced keys. Keys that Redis does not return are kept for the next exchange.
    private func readChanged() async {
        for key in changed.takeAll() where await !read(key) { changed.record([Array(key.utf8)]) }
    }

    /// - Returns: false if Redis did not reply.
    private func read(_ key: String) async -> Bool {
        guard let reply = try? await store.run(RedisFleetState.quotaPause, keys: [RedisWord(key)]) else {
            metrics.count(.pause, .lost)
            return false
        }
        // The pause has ended, or has been deleted.
        if reply == .null { return true }
        guard case .array(let values) = reply, values.count == 2, case .string(let sealed) = values[0],
            case .integer(let left) = values[1], left > 0, let value = try? seal.open(sealed, for: key),
            let quota = ServerAPIQuota(stored: value)
        else {
            metrics.count(.pause, .unreadable)
            return true
        }
        learn(quota, left)
        return true
    }

    private func learn(_ quota: ServerAPIQuota, _ left: Int64) {
        let mine = guards.pauseRemaining(of: quota)?.wholeMilliseconds ?? 0
        guard left > mine + Int64(RedisFleetState.Limits.pauseSlackMilliseconds) else { return }
        guards.pause(quota, for: .milliseconds(min(left, RedisFleetState.Limits.pauseMilliseconds)))
        metrics.count(.pause, .received)
    }
}

extension ServerAPIQuota {
    /// The stored form: environment, operation and bundle ID, in lines.
    var stored: [UInt8] { Array("\(environment.rawValue)\n\(operation.rawValue)\n\(bundleID)".utf8) }

    init?(stored bytes: [UInt8]) {
        let lines = bytes.split(separator: UInt8(ascii: "\n"), maxSplits: 2, omittingEmptySubsequences: false)
            .compactMap { String(outside: $0) }
        guard lines.count == 3, let environment = UpstreamEnvironment(rawValue: lines[0]),
            let operation = ServerAPIOperation(rawValue: lines[1]), !lines[2].isEmpty
        else { return nil }
        self.init(bundleID: lines[2], environment: environment, operation: operation)
    }
}

/// The keys of quotas' pauses that Redis announced as changed, and that this node has not read yet.
final class ChangedQuotaPauses: Sendable {
    private let keys = Mutex<Set<String>>([])

    enum Limits {
        /// Keys that wait to be read. Further keys are dropped: this node receives their pauses from Apple.
        static let keys = 1024
        /// The length of a pseudonymous name.
        static let nameBytes = 43
    }

    /// Records those keys that are pauses of quotas.
    /// - Returns: true if there are any.
    @discardableResult
    func record(_ changed: [[UInt8]]) -> Bool {
        let pauses = changed.filter(Self.isQuotaPause)
        guard !pauses.isEmpty else { return false }
        keys.withLock { keys in
            let texts = pauses.lazy.compactMap { String(outside: $0) }
            keys.formUnion(texts.prefix(max(0, Limits.keys - keys.count)))
        }
        return true
    }

    func takeAll() -> Set<String> { keys.exchange([]) }

    /// The names of endpoints are shorter.
    private static func isQuotaPause(_ key: [UInt8]) -> Bool {
        key.count == RedisFleetState.pausePrefix.utf8.count + Limits.nameBytes
            && key.starts(with: RedisFleetState.pausePrefix.utf8)
    }
}
