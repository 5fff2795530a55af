// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The probes of one half-open phase. Each has a place on a lease: one that is lost, because its caller never says what
/// became of it, gives its place to another when the lease ends.
struct Probes: Hashable, Sendable {
    typealias Number = UInt64

    enum Beginning {
        case began(Number)
        /// So long until the first lease ends.
        case allBusy(Duration)
    }

    private struct Lease: Hashable, Sendable {
        let number: Number
        var end: Instant
    }

    /// How many probes succeeded.
    var successes = 0
    private var leases: [Lease] = []
    private var nextNumber: Number = 0

    /// Begins a probe if no more are on their way than are still needed.
    mutating func begin(at now: Instant, following policy: CircuitBreaker.Policy) -> Beginning {
        // Never longer than from now, should the clock have gone back.
        for index in leases.indices { leases[index].end = min(leases[index].end, now + policy.probeLease) }
        leases.removeAll { $0.end <= now }
        if leases.count + successes >= policy.probes, let first = leases.map(\.end).min() {
            return .allBusy(now.duration(to: first))
        }
        defer { nextNumber += 1 }
        leases.append(Lease(number: nextNumber, end: now + policy.probeLease))
        return .began(nextNumber)
    }

    /// Ends a probe; false if its lease was over and its place given away.
    mutating func end(_ number: Number) -> Bool {
        guard let index = leases.firstIndex(where: { $0.number == number }) else { return false }
        leases.remove(at: index)
        return true
    }
}
