// SPDX-License-Identifier: Apache-2.0

internal import Receipts

/// The events of a queue that wait for a further attempt, or behind another of their chain. Of each chain only the
/// first is sent.
struct HeldEvents: Sendable {
    /// In order of their positions.
    private var chains: [String: [HeldEvent]]
    /// The times of the next attempts, for chains without an event that is being sent.
    private var due: [String: Timestamp]
    private(set) var nextAttempt: Timestamp?
    private(set) var count: Int

    init(_ held: [HeldEvent]) {
        count = held.count
        chains = Dictionary(grouping: held.sorted { $0.position < $1.position }, by: \.chain)
        due = chains.compactMapValues { $0.first?.dueTime }
        nextAttempt = due.values.min()
    }

    func contains(chain: String) -> Bool { chains[chain] != nil }

    func event(at position: EventPosition, of chain: String) -> HeldEvent? {
        chains[chain]?.first { $0.position == position }
    }

    /// Returns the events that a probe may send, due or not, the oldest first.
    var firsts: [HeldEvent] { due.keys.compactMap { chains[$0]?.first }.sorted { $0.position < $1.position } }

    /// Returns the event whose attempt has been due for the longest time, of several the oldest; nil if none is due.
    func due(at now: Timestamp) -> HeldEvent? {
        guard let time = nextAttempt, time <= now else { return nil }
        return due.lazy.filter { $0.value == time }.compactMap { chains[$0.key]?.first }
            .min { $0.position < $1.position }
    }

    /// Adds an event, behind the other events of its chain.
    mutating func append(_ event: HeldEvent) {
        count += 1
        chains[event.chain, default: []].append(event)
        if chains[event.chain]?.count == 1 { schedule(event.chain) }
    }

    mutating func begin(_ chain: String) {
        due[chain] = nil
        nextAttempt = due.values.min()
    }

    /// Ends an attempt of the first event of a chain, which stays for a further attempt.
    mutating func retry(_ event: HeldEvent) {
        chains[event.chain]?[0] = event
        schedule(event.chain)
    }

    /// Removes the first event of a chain, so that the next event may be sent.
    mutating func removeFirst(of chain: String) {
        count -= 1
        chains[chain]?.removeFirst()
        if chains[chain]?.isEmpty == true { chains[chain] = nil }
        schedule(chain)
    }

    private mutating func schedule(_ chain: String) {
        due[chain] = chains[chain]?.first?.dueTime
        nextAttempt = due.values.min()
    }
}

extension HeldEvent {
    /// The time of the next attempt; always past for an event that waited behind another event.
    fileprivate var dueTime: Timestamp { nextAttempt ?? .earliest }
}

/// The times of the attempts to deliver one event (Standard Webhooks, "Deliverability and reliability").
package enum DeliverySchedule {
    package enum Limits {
        /// The longest `Retry-After` that is respected.
        package static let retryAfter: Duration = .seconds(3600)
        /// The share of a delay that is added at most, so that events that failed together do not return together.
        static let jitter = 0.1
    }

    /// The time from each failed attempt to the next attempt, together 75.6 hours.
    static let delays: [Duration] = [
        .seconds(5), .seconds(5 * 60), .seconds(30 * 60), .seconds(2 * 3600), .seconds(5 * 3600), .seconds(10 * 3600),
        .seconds(14 * 3600), .seconds(20 * 3600), .seconds(24 * 3600),
    ]

    package static let attempts = delays.count + 1

    /// Returns the time from a failed attempt to the next attempt; nil after the last attempt.
    /// - Parameters:
    ///   - attempts: the attempts so far, at least 1.
    ///   - retryAfter: the delay that the endpoint requested.
    static func delay(
        afterAttempts attempts: Int, retryAfter: Duration?, using generator: inout some RandomNumberGenerator
    ) -> Duration? {
        guard attempts < Self.attempts else { return nil }
        let delay = delays[max(0, attempts - 1)]
        let requested = min(retryAfter ?? .zero, Limits.retryAfter)
        return max(delay * (1 + .random(in: 0...Limits.jitter, using: &generator)), requested)
    }
}
