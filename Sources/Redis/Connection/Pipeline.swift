// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// Who waits for which reply. Redis answers in the order it was asked, so a reply belongs to the oldest command that
/// has none.
///
/// A command that timed out keeps its place: its reply, should it come, is dropped there and never given to another.
struct Pipeline<Waiter> {
    /// The commands of one caller.
    private struct RoundTrip {
        /// Nil once it timed out.
        var waiter: Waiter?
        let commands: Int
        let since: NIODeadline
    }

    private var roundTrips: CircularBuffer<RoundTrip> = []
    /// What the oldest round trip has received so far.
    private var received: [Result<RedisValue, RedisError>] = []
    /// How many round trips, from the oldest on, have timed out.
    private var timedOut = 0
    /// Commands without a reply.
    private(set) var waitingCommands = 0

    /// Whether every reply has come.
    var isEmpty: Bool { roundTrips.isEmpty }
    /// Since when the oldest command waits for its reply, timed out or not.
    var oldest: NIODeadline? { roundTrips.first?.since }
    /// Since when the oldest command waits that has not timed out.
    var oldestWaiting: NIODeadline? {
        guard timedOut < roundTrips.count else { return nil }
        return roundTrips[roundTrips.index(roundTrips.startIndex, offsetBy: timedOut)].since
    }

    /// Commands were sent.
    mutating func append(_ waiter: Waiter, commands: Int, since: NIODeadline) {
        roundTrips.append(RoundTrip(waiter: waiter, commands: commands, since: since))
        waitingCommands += commands
    }

    /// A reply came. The delivery if it was somebody's last; nothing if more must come or nobody waits any more.
    /// False if no reply was due.
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

    /// The oldest that has not timed out yet does so.
    mutating func timeOutOldestWaiting() -> Delivery<Waiter>? {
        guard timedOut < roundTrips.count else { return nil }
        let index = roundTrips.index(roundTrips.startIndex, offsetBy: timedOut)
        let delivery = fail(at: index, with: .timeout)
        roundTrips.modify(index) { $0.waiter = nil }
        timedOut += 1
        return delivery
    }

    /// No more replies will come: everybody who waits.
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
