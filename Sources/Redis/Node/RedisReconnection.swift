// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The delays before the next attempt to connect. They double each time, with jitter, so that nodes that lost Redis
/// together do not reconnect together.
public struct RedisReconnection: Hashable, Sendable {
    /// The delay after the first failure.
    public var base: Duration = .milliseconds(50)
    /// The maximum delay. After a connection that lasted as long, delays start again at `base`.
    public var longest: Duration = .seconds(2)
    /// The delay after Redis rejected the login, which only an operator can fix.
    public var afterRefusal: Duration = .seconds(10)

    /// Creates the default delays.
    public init() {}

    /// Returns a random delay between half of `min(longest, base * 2^failures)` and all of it.
    /// - Parameter failures: the number of failed attempts before this one's failure.
    func delay(afterFailures failures: Int, using generator: inout some RandomNumberGenerator) -> Duration {
        let doublings = min(failures, Self.maximumDoublings)
        return jittered(min(longest, base * (1 << doublings)), using: &generator)
    }

    /// Returns a random delay between half of `afterRefusal` and all of it.
    func delayAfterRefusal(using generator: inout some RandomNumberGenerator) -> Duration {
        jittered(afterRefusal, using: &generator)
    }

    private func jittered(_ span: Duration, using generator: inout some RandomNumberGenerator) -> Duration {
        span * Double.random(in: 0.5...1, using: &generator)
    }

    private static let maximumDoublings = 20
}
