// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

extension CircuitBreaker {
    /// The control over calls, by the breaker or the operator.
    public enum Mode: String, Hashable, Sendable, CaseIterable {
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

    /// The present state of a breaker.
    public enum State: Hashable, Sendable {
        /// Calls are made and counted.
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
        public enum Name: String, Hashable, Sendable, CaseIterable {
            case closed
            case open
            case halfOpen = "half_open"
        }
    }

    /// The changes of state.
    public enum Transition: Hashable, Sendable, CaseIterable {
        /// Too many calls failed or were slow.
        case trip
        /// The opening has ended.
        case probe
        /// A probe failed.
        case reopen
        /// All probes succeeded.
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

    /// The decision about a call.
    package enum Admission: Hashable, Sendable {
        case call(Permit)
        /// The call may not be made. An earlier retry succeeds only if a probe ends early.
        case reject(retryAfter: Duration)
    }

    /// The permission for one call, to be returned with its outcome.
    package struct Permit: Hashable, Sendable {
        let generation: UInt64
        var probe: Probes.Number?
        /// True if the call would have been rejected in another mode than `metricsOnly`.
        package internal(set) var overrulesRejection = false
    }
}
