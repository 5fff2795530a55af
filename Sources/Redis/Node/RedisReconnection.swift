// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// How long to wait before the next attempt to connect: at least half of a span that doubles each time, so that nodes
/// that lost Redis together do not come back together.
public struct RedisReconnection: Hashable, Sendable {
    /// The span after the first failure.
    public var base: Duration = .milliseconds(50)
    /// What the span never exceeds. A connection that lived as long starts again at `base`.
    public var longest: Duration = .seconds(2)
    /// The span after Redis refused the login: only an operator can mend that.
    public var afterRefusal: Duration = .seconds(10)

    /// The defaults.
    public init() {}

    /// A random span between half of `min(longest, base * 2^failures)` and all of it.
    /// - Parameter failures: attempts that failed before this one's failure.
    func delay(afterFailures failures: Int, using generator: inout some RandomNumberGenerator) -> Duration {
        let doublings = min(failures, Self.maximumDoublings)
        return jittered(min(longest, base * (1 << doublings)), using: &generator)
    }

    /// A random span between half of `afterRefusal` and all of it.
    func delayAfterRefusal(using generator: inout some RandomNumberGenerator) -> Duration {
        jittered(afterRefusal, using: &generator)
    }

    private func jittered(_ span: Duration, using generator: inout some RandomNumberGenerator) -> Duration {
        span * Double.random(in: 0.5...1, using: &generator)
    }

    private static let maximumDoublings = 20
}
