// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// Token buckets that all nodes share.
package protocol SharedBuckets: Sendable {
    /// Executes a request in one atomic step.
    func take(_ order: TokenRequest) async throws(SharedBucketsFault) -> TokenGrant
}

/// A request for the tokens of equal requests. As many are admitted as all enforced buckets have tokens for, and only
/// their tokens are taken.
package struct TokenRequest: Hashable, Sendable {
    package struct Line: Hashable, Sendable {
        /// The bucket, and the cost of one request.
        package let charge: RateCharge
        /// The number of tokens that the node holds already and contributes.
        package internal(set) var prepaid = 0
        /// The number of tokens that the node wants in advance. They are given only if all requests are admitted, and
        /// only half of what is left then; `TokenLease` states the rule for taking them.
        package internal(set) var inAdvance = 0
        /// The life of tokens taken in advance, as the bucket counts it; zero if none are wanted.
        package internal(set) var life: Duration = .zero
    }

    /// The number of requests, at least 1.
    package let requests: Int
    package let lines: [Line]
}

/// The store's reply to a node's request for tokens.
package struct TokenGrant: Hashable, Sendable {
    /// The tokens that one bucket gave, and its state.
    package struct Line: Hashable, Sendable {
        /// The number of requests it has tokens for; it gave the tokens of the admitted ones. Fewer than admitted only
        /// if the bucket is not enforced.
        package let requests: Int
        package let inAdvance: Int
        package let timeUntilFull: Duration
        /// The time until it has tokens for one more such request; zero if it has them.
        package let timeUntilNext: Duration

        package init(requests: Int, inAdvance: Int, timeUntilFull: Duration, timeUntilNext: Duration) {
            self.requests = requests
            self.inAdvance = inAdvance
            self.timeUntilFull = timeUntilFull
            self.timeUntilNext = timeUntilNext
        }
    }

    package let admitted: Int
    /// One line for each line of the request.
    package let lines: [Line]

    package init(admitted: Int, lines: [Line]) {
        self.admitted = admitted
        self.lines = lines
    }
}

/// A failed request for tokens: the store is unreachable, does not reply in time, rejects the request or sends an invalid
/// reply. The request may have been executed.
package struct SharedBucketsFault: Error, Hashable, Sendable {
    package init() {}
}
