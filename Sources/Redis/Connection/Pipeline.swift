// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// The waiters for replies. Redis replies in the order of commands, so a reply belongs to the oldest one without it.
///
/// A command that timed out keeps its entry: a late reply is dropped there, and never given to another command.
struct Pipeline<Waiter> {
    /// The commands of one caller.
    private struct RoundTrip {
        /// Nil after a timeout.
        var waiter: Waiter?
        let commands: Int
        let since: NIODeadline
    }

    private var roundTrips: CircularBuffer<RoundTrip> = []
    /// The replies to the oldest round trip so far.
    private var received: RedisResults = []
    /// The number of round trips, from the oldest on, that have timed out.
    private var timedOut = 0
    /// The number of commands without a reply.
    private(set) var waitingCommands = 0

    var isEmpty: Bool { roundTrips.isEmpty }
    /// The start of the oldest round trip without all replies, timed out or not.
    var oldest: NIODeadline? { roundTrips.first?.since }
    /// The start of the oldest round trip that has not timed out.
    var oldestWaiting: NIODeadline? { firstWaiting.map { roundTrips[$0].since } }
    private var firstWaiting: CircularBuffer<RoundTrip>.Index? {
        timedOut < roundTrips.count ? roundTrips.index(roundTrips.startIndex, offsetBy: timedOut) : nil
    }

    mutating func append(_ waiter: Waiter, commands: Int, since: NIODeadline) {
        roundTrips.append(RoundTrip(waiter: waiter, commands: commands, since: since))
        waitingCommands += commands
    }

    /// Records a reply, and sets the delivery if it completes a round trip with a waiter.
    /// - Returns: false if no reply was expected.
    mutating func receive(_ result: Result<RedisValue, RedisError>, _ delivery: inout Delivery<Waiter>?) -> Bool {
        guard let first = roundTrips.first else { return false }
        received.append(result)
        waitingCommands -= 1
        if received.count == first.commands { delivery = finishFirst() }
        return true
    }

    private mutating func finishFirst() -> Delivery<Waiter>? {
        let first = roundTrips.removeFirst()
        defer { received = [] }
        timedOut = max(0, timedOut - 1)
        return first.waiter.map { Delivery(waiter: $0, results: received, since: first.since) }
    }

    /// Fails the oldest round trip that has not timed out.
    mutating func timeOutOldestWaiting() -> Delivery<Waiter>? {
        guard let index = firstWaiting else { return nil }
        let delivery = fail(at: index, with: .timeout)
        roundTrips.modify(index) { $0.waiter = nil }
        timedOut += 1
        return delivery
    }

    /// Fails all waiters: no more replies will come.
    mutating func end(_ error: RedisError) -> [Delivery<Waiter>] {
        let deliveries = roundTrips.indices.compactMap { fail(at: $0, with: error) }
        self = Self()
        return deliveries
    }

    private func fail(at index: CircularBuffer<RoundTrip>.Index, with error: RedisError) -> Delivery<Waiter>? {
        let roundTrip = roundTrips[index]
        guard let waiter = roundTrip.waiter else { return nil }
        let before = index == roundTrips.startIndex ? received : []
        let missing = roundTrip.commands - before.count
        return Delivery(
            waiter: waiter, results: before + Array(repeating: .failure(error), count: missing),
            since: roundTrip.since)
    }
}
