// SPDX-License-Identifier: Apache-2.0

internal import JSON
internal import Logging
internal import Redis
internal import Resilience
internal import Synchronization

/// Distributes the Redis client's events to metrics, health, caches and waiters.
final class StoreEvents: RedisObserver {
    private let health: StoreHealth
    private let metrics: StoreMetrics
    private let logger: Logger
    private let results = Mutex<RedisUpstreamCache?>(nil)
    private let lastFault = Mutex<RedisConnectionFault?>(nil)
    let leaseWaits = KeyChanges()
    let changedQuotaPauses = ChangedQuotaPauses()
    /// The signals that the fleet's state may have changed. Signals before the next refresh count as one.
    let refreshes = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    /// The waiter that ends with the first attempt to connect.
    let firstAttempt = Waiter<Bool>()

    init(health: StoreHealth, metrics: StoreMetrics, logger: Logger) {
        self.health = health
        self.metrics = metrics
        self.logger = logger
    }

    func register(_ cache: RedisUpstreamCache) { results.withLock { $0 = cache } }

    func observe(_ event: RedisEvent) {
        metrics.count(event)
        switch event {
        case .connected(let role): connected(role)
        case .connectFailed(let role, let fault): failed(role, fault)
        case .disconnected(let role, let fault): log(fault, role)
        case .invalidated(let names): invalidated(names)
        case .flushed:
            results.withLock { $0 }?.flushed()
            leaseWaits.wakeAll()
            refreshes.continuation.yield()
        case .published, .redirected, .mastersChanged, .mastersUnknown: break
        }
    }

    private func connected(_ role: RedisConnectionRole) {
        health.recordLogin(role, failed: nil)
        if role == .commands { firstAttempt.end(with: true) }
        if lastFault.exchange(nil) != nil {
            logger.notice("Redis is available again", metadata: ["connection": "\(role.rawValue)"])
        }
    }

    private func failed(_ role: RedisConnectionRole, _ fault: RedisConnectionFault) {
        if fault.isConfigurationFault { health.recordLogin(role, failed: fault) }
        if role == .commands { firstAttempt.end(with: false) }
        log(fault, role)
    }

    private func invalidated(_ names: [[UInt8]]) {
        // Before waking the waiters, which will look up the cache.
        results.withLock { $0 }?.invalidate(keys: names)
        leaseWaits.wake(names)
        let isQuotaPause = changedQuotaPauses.record(names)
        if isQuotaPause || names.contains(where: RedisFleetState.keys.contains) { refreshes.continuation.yield() }
    }

    /// Logs each fault once, not for each attempt.
    private func log(_ fault: RedisConnectionFault, _ role: RedisConnectionRole) {
        guard fault != .shutDown, lastFault.exchange(fault) != fault else { return }
        logger.log(
            level: fault.isConfigurationFault ? .error : .warning, "Redis is unavailable",
            metadata: ["connection": "\(role.rawValue)", "fault": "\(fault.text)"])
    }
}

extension RedisConnectionFault {
    /// The fault in the log. Redis's words may contain anything but the password (`RedisRefusal`).
    fileprivate var text: String {
        let word = StoreConnectResult(self).rawValue
        return switch self {
        case .unreachable(let words): "\(word): \(words)"
        case .tls(let fault): "\(word): \(fault.rawValue)"
        case .refused(let refusal): "\(word): \(refusal.line)"
        case .stalled, .protocolViolation, .closed, .shutDown: word
        }
    }
}

final class KeyChanges: Sendable {
    private let timeouts = Timeouts()
    /// By key and waiter; at most one waiter per flight.
    private let waiting = Mutex<[String: [ObjectIdentifier: Waiter<Bool>]]>([:])

    /// Returns when the key's change is announced, or after `span`.
    func wait(for key: String, upTo span: Duration) async {
        let waiter = Waiter<Bool>()
        waiting.withLock { $0[key, default: [:]][ObjectIdentifier(waiter)] = waiter }
        _ = await waiter.value(waitLimit: span, timeouts)
        waiting.withLock { waiting in
            waiting[key]?[ObjectIdentifier(waiter)] = nil
            if waiting[key]?.isEmpty == true { waiting[key] = nil }
        }
    }

    func wake(_ keys: [[UInt8]]) {
        let awake = waiting.withLock { waiting in
            waiting.isEmpty
                ? [] : keys.compactMap { String(outside: $0).flatMap { waiting.removeValue(forKey: $0) } }
        }
        for waiter in awake.flatMap(\.values) { waiter.end(with: true) }
    }

    /// Resumes all waiters, because any key may have changed.
    func wakeAll() {
        for waiter in waiting.exchange([:]).values.flatMap(\.values) { waiter.end(with: true) }
    }

    var count: Int { waiting.withLock { $0.count } }
}

extension Mutex where Value: Sendable {
    /// Replaces the value; returns the earlier value.
    func exchange(_ value: Value) -> Value {
        withLock { current in
            defer { current = value }
            return current
        }
    }
}
