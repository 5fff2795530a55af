// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// Token buckets that all nodes share.
public protocol SharedBuckets: Sendable {
    /// Carries out an order as one step: nobody sees half of it.
    func take(_ order: TokenRequest) async throws(SharedBucketsFault) -> TokenGrant
}

/// What a node wants for a number of like requests: as many of them as all enforced buckets have tokens for, and then
/// the tokens of just these.
public struct TokenRequest: Hashable, Sendable {
    /// What is wanted of one bucket.
    public struct Line: Hashable, Sendable {
        /// Which bucket, and what one request costs.
        public let charge: RateCharge
        /// How many tokens the node holds already and puts towards the requests.
        public let prepaid: Int
        /// How many tokens the node would like in advance. They are given only if all requests are admitted, and only
        /// half of what is left then; how they may be taken is said at `TokenLease`.
        public let inAdvance: Int
        /// How long tokens taken in advance live, as the bucket reckons it; zero if none are wanted.
        public let life: Duration

        /// A line.
        public init(_ charge: RateCharge, prepaid: Int = 0, inAdvance: Int = 0, life: Duration = .zero) {
            self.charge = charge
            self.prepaid = prepaid
            self.inAdvance = inAdvance
            self.life = life
        }
    }

    /// How many requests, at least 1.
    public let requests: Int
    /// One for each bucket.
    public let lines: [Line]

    /// An order.
    public init(requests: Int, lines: [Line]) {
        self.requests = requests
        self.lines = lines
    }
}

/// What a node got.
public struct TokenGrant: Hashable, Sendable {
    /// What one bucket gave, and how it stands.
    public struct Line: Hashable, Sendable {
        /// How many requests it has tokens for; of those admitted, it gave the tokens. Fewer than admitted only if the
        /// bucket is not enforced.
        public let requests: Int
        /// How many tokens it gave in advance.
        public let inAdvance: Int
        /// How long until it is full.
        public let timeUntilFull: Duration
        /// How long until it has tokens for one more such request; zero if it has them.
        public let timeUntilNext: Duration

        /// A line.
        public init(requests: Int, inAdvance: Int, timeUntilFull: Duration, timeUntilNext: Duration) {
            self.requests = requests
            self.inAdvance = inAdvance
            self.timeUntilFull = timeUntilFull
            self.timeUntilNext = timeUntilNext
        }
    }

    /// How many of the requests are admitted.
    public let admitted: Int
    /// One for each line of the order.
    public let lines: [Line]

    /// A delivery.
    public init(admitted: Int, lines: [Line]) {
        self.admitted = admitted
        self.lines = lines
    }
}

/// Why an order was not carried out, or nobody knows whether it was.
public enum SharedBucketsFault: String, Error, CaseIterable, Hashable, Sendable {
    /// The store cannot be reached, does not answer in time, or cannot do it now.
    case unreachable
    /// The store does not let this gateway in, or do this: only an operator can mend it.
    case misconfigured
    /// The answer makes no sense.
    case nonsense
}
