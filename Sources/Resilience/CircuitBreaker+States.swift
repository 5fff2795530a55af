// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

extension CircuitBreaker {
    /// Who decides whether calls are made.
    public enum Mode: String, Hashable, Sendable, CaseIterable {
        /// The breaker.
        case auto
        /// An operator: no calls are made, and nothing is counted.
        case forcedOpen = "forced_open"
        /// An operator: all calls are made, and nothing is counted.
        case forcedClosed = "forced_closed"
        /// Nobody: the breaker counts, decides and changes its state as ever, but all calls are made.
        case metricsOnly = "metrics_only"

        var decides: Bool { self == .auto || self == .metricsOnly }
    }

    /// What a breaker does at present.
    public enum State: Hashable, Sendable {
        /// Lets calls through and counts them.
        case closed
        /// Rejects calls until then; until the mode changes if there is no end.
        case open(until: Instant?)
        /// Lets a few probes through.
        case halfOpen

        /// The state without its time.
        public var name: Name {
            switch self {
            case .closed: .closed
            case .open: .open
            case .halfOpen: .halfOpen
            }
        }

        /// The states a breaker can be in, as metrics spell them.
        public enum Name: String, Hashable, Sendable, CaseIterable {
            case closed
            case open
            case halfOpen = "half_open"
        }
    }

    /// The ways from one state to another.
    public enum Transition: Hashable, Sendable, CaseIterable {
        /// Too many calls failed or were slow.
        case trip
        /// The opening is over.
        case probe
        /// A probe failed.
        case reopen
        /// All probes succeeded.
        case close

        /// The state that is left.
        public var from: State.Name {
            switch self {
            case .trip: .closed
            case .probe: .open
            case .reopen, .close: .halfOpen
            }
        }

        /// The state that is entered.
        public var to: State.Name {
            switch self {
            case .trip, .reopen: .open
            case .probe: .halfOpen
            case .close: .closed
            }
        }
    }
}

extension CircuitBreaker {
    /// Whether a call may be made.
    public enum Admission: Hashable, Sendable {
        /// It may.
        case call(Permit)
        /// It may not. Before this span is over, asking again helps only if a probe ends early.
        case reject(retryAfter: Duration)
    }

    /// The leave to make one call, to be handed back with its outcome.
    public struct Permit: Hashable, Sendable {
        let generation: UInt64
        let probe: Probes.Number?
        /// Whether the call would have been rejected if the mode were not `metricsOnly`.
        public let overrulesRejection: Bool

        init(generation: UInt64, probe: Probes.Number? = nil, overrulesRejection: Bool = false) {
            self.generation = generation
            self.probe = probe
            self.overrulesRejection = overrulesRejection
        }
    }
}
