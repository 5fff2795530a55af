// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The probes of one half-open phase. Each slot is leased: a probe without a recorded outcome loses it when the lease
/// ends.
struct Probes: Hashable, Sendable {
    typealias Number = UInt64

    enum Beginning {
        case began(Number)
        /// The time until the first lease ends.
        case allBusy(Duration)
    }

    private struct Lease: Hashable, Sendable {
        let number: Number
        var end: Instant
    }

    var successes = 0
    private var leases: [Lease] = []
    private var nextNumber: Number = 0

    /// Begins a probe unless as many as are still needed are in flight.
    mutating func begin(at now: Instant, following policy: CircuitBreaker.Policy) -> Beginning {
        // Never longer than from now, in case the clock went back.
        for index in leases.indices { leases[index].end = min(leases[index].end, now + policy.probeLease) }
        leases.removeAll { $0.end <= now }
        if leases.count + successes >= policy.probes, let first = leases.map(\.end).min() {
            return .allBusy(now.duration(to: first))
        }
        defer { nextNumber += 1 }
        leases.append(Lease(number: nextNumber, end: now + policy.probeLease))
        return .began(nextNumber)
    }

    /// Ends a probe; false if its lease had ended.
    mutating func end(_ number: Number) -> Bool {
        guard let index = leases.firstIndex(where: { $0.number == number }) else { return false }
        leases.remove(at: index)
        return true
    }
}
