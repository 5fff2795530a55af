// SPDX-License-Identifier: Apache-2.0

extension CircuitBreaker {
    /// The control over calls, by the breaker or the operator.
    package enum Mode: String, Hashable, Sendable, CaseIterable {
        /// The breaker decides.
        case auto
        /// The operator forbids all calls; nothing is counted.
        case forcedOpen = "forced_open"
        /// The operator permits all calls; nothing is counted.
        case forcedClosed = "forced_closed"
        /// All calls are made, but the breaker counts, decides and changes its state as usual.
        case metricsOnly = "metrics_only"

        var decides: Bool { self == .auto || self == .metricsOnly }
    }

    package enum State: Hashable, Sendable {
        case closed
        /// Calls are rejected until this time; if nil, always.
        case open(until: Instant?)
        /// A few probes are made.
        case halfOpen

        package var name: Name {
            switch self {
            case .closed: .closed
            case .open: .open
            case .halfOpen: .halfOpen
            }
        }

        /// The names of the states in metrics.
        package enum Name: String, Hashable, Sendable, CaseIterable {
            case closed
            case open
            case halfOpen = "half_open"
        }
    }

    package enum Transition: Hashable, Sendable, CaseIterable {
        /// Too many calls failed or were slow.
        case trip
        case probe
        case reopen
        case close

        package var from: State.Name {
            switch self {
            case .trip: .closed
            case .probe: .open
            case .reopen, .close: .halfOpen
            }
        }

        package var to: State.Name {
            switch self {
            case .trip, .reopen: .open
            case .probe: .halfOpen
            case .close: .closed
            }
        }
    }

    package enum Admission: Hashable, Sendable {
        case call(Permit)
        /// The call may not be made. An earlier retry succeeds only if a probe ends early.
        case reject(retryAfter: Duration)
    }

    /// The permission for one call, to be returned with its outcome.
    package struct Permit: Hashable, Sendable {
        let generation: UInt64
        var probe: Probes.Number?
    }
}

/// The probes of one half-open phase. Each slot is leased: a probe without a recorded outcome loses it when the lease
/// ends.
struct Probes: Hashable, Sendable {
    typealias Number = UInt64

    private struct Lease: Hashable, Sendable {
        let number: Number
        var end: Instant
    }

    var successes = 0
    private var leases: [Lease] = []
    private var nextNumber: Number = 0

    /// Begins a probe, unless as many as are still needed are in flight: then the first lease must end.
    mutating func begin(
        at now: Instant, following policy: CircuitBreaker.Policy, in generation: UInt64
    ) -> CircuitBreaker.Admission {
        // Never longer than from now, in case the clock went back.
        for index in leases.indices { leases[index].end = min(leases[index].end, now + policy.probeLease) }
        leases.removeAll { $0.end <= now }
        if leases.count + successes >= policy.probes, let first = leases.map(\.end).min() {
            return .reject(retryAfter: now.duration(to: first))
        }
        defer { nextNumber += 1 }
        leases.append(Lease(number: nextNumber, end: now + policy.probeLease))
        return .call(CircuitBreaker.Permit(generation: generation, probe: nextNumber))
    }

    /// Ends a probe; false if its lease had ended.
    mutating func end(_ number: Number) -> Bool {
        guard let index = leases.firstIndex(where: { $0.number == number }) else { return false }
        leases.remove(at: index)
        return true
    }
}

/// The outcome of a call to an upstream. The caller classifies its errors.
package enum Outcome: Hashable, Sendable {
    /// The upstream gave a meaningful answer, favourable or not.
    case success(took: Duration)
    /// The upstream gave no answer, or none that can be used.
    case failure(Failure, took: Duration)
    /// The upstream rejected too many requests (429). It works, but calls must pause.
    case throttled
    /// Nothing was learnt about the upstream, for instance because the caller left.
    case neutral

    package enum Failure: Hashable, Sendable, CaseIterable {
        /// No answer: no connection, no TLS, no answer in time.
        case hard
        /// An unusable answer: a 5xx, an unreadable body, a temporary error of the upstream.
        case soft
    }
}
