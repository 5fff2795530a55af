// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// Token buckets that all nodes share.
public protocol SharedBuckets: Sendable {
    /// Executes a request in one atomic step.
    func take(_ order: TokenRequest) async throws(SharedBucketsFault) -> TokenGrant
}

/// A request for the tokens of equal requests. As many are admitted as all enforced buckets have tokens for, and only
/// their tokens are taken.
public struct TokenRequest: Hashable, Sendable {
    /// The request to one bucket.
    public struct Line: Hashable, Sendable {
        /// The bucket, and the cost of one request.
        public let charge: RateCharge
        /// The number of tokens that the node holds already and contributes.
        public internal(set) var prepaid = 0
        /// The number of tokens that the node wants in advance. They are given only if all requests are admitted, and
        /// only half of what is left then; `TokenLease` states the rule for taking them.
        public internal(set) var inAdvance = 0
        /// The life of tokens taken in advance, as the bucket counts it; zero if none are wanted.
        public internal(set) var life: Duration = .zero
    }

    /// The number of requests, at least 1.
    public let requests: Int
    /// One line for each bucket.
    public let lines: [Line]
}

/// The store's reply to a node's request for tokens.
public struct TokenGrant: Hashable, Sendable {
    /// The tokens that one bucket gave, and its state.
    public struct Line: Hashable, Sendable {
        /// The number of requests it has tokens for; it gave the tokens of the admitted ones. Fewer than admitted only
        /// if the bucket is not enforced.
        public let requests: Int
        /// The number of tokens given in advance.
        public let inAdvance: Int
        /// The time until the bucket is full.
        public let timeUntilFull: Duration
        /// The time until it has tokens for one more such request; zero if it has them.
        public let timeUntilNext: Duration

        /// Creates a line.
        public init(requests: Int, inAdvance: Int, timeUntilFull: Duration, timeUntilNext: Duration) {
            self.requests = requests
            self.inAdvance = inAdvance
            self.timeUntilFull = timeUntilFull
            self.timeUntilNext = timeUntilNext
        }
    }

    /// The number of admitted requests.
    public let admitted: Int
    /// One line for each line of the request.
    public let lines: [Line]

    /// Creates a reply.
    public init(admitted: Int, lines: [Line]) {
        self.admitted = admitted
        self.lines = lines
    }
}

/// The reasons why a request was not executed, or perhaps not.
public enum SharedBucketsFault: String, Error, CaseIterable, Hashable, Sendable {
    /// The store is unreachable, does not reply in time, or cannot execute the request now.
    case unreachable
    /// The store rejects the gateway's login or command: only the operator can fix it.
    case misconfigured
    /// The reply is invalid.
    case nonsense
}
