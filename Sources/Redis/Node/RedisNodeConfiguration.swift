// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Secrets

/// A node's address, login, deadlines and limits.
package struct RedisNodeConfiguration: Sendable {
    package var address: RedisAddress
    package var tls: RedisTLS?
    /// The login; without a password there is none.
    package var credentials = RedisURL.Credentials()
    /// The number of the database. 0 is not selected, so that it works in a cluster and with Sentinel.
    package var database = 0
    /// The name in `CLIENT LIST`, without spaces.
    package var clientName = "receipt-gateway"
    package var commandDeadline: Duration = .milliseconds(50)
    /// The time limit of one attempt to connect, from name resolution to the last reply of the login.
    package var connectDeadline: Duration = .milliseconds(250)
    /// The scripts that every connection loads before it takes commands.
    package var scripts: [RedisScript] = []
    /// The key prefixes whose changes are announced; none is a prefix of another. If it and `channels` are empty, there
    /// is no subscriber connection.
    package var trackedPrefixes: [String] = []
    package var channels: [String] = []
    /// The interval of the subscriber connection's pings; it ends after three without a reply.
    package var pingInterval: Duration = .seconds(1)
    package var reconnection = RedisReconnection()
    package var limits = Limits()

    package init(address: RedisAddress) { self.address = address }

    /// The limits of one connection.
    package struct Limits: Hashable, Sendable {
        /// Commands in flight. One that timed out counts until its reply or the connection's end.
        package var maximumPipelined = 4096
        /// Bytes not yet written to the socket; further commands are rejected.
        package var maximumUnsentBytes = 8 << 20
        package var maximumReplyBytes = 8 << 20
        /// The elements of one reply, in all its arrays together.
        package var maximumReplyElements = 65536
        /// The nesting of arrays; hiredis supports 7.
        package var maximumReplyNesting = 7
    }
}

extension RedisNodeConfiguration: Redacted {
    package var description: String { "\(address)" }
}

/// The delays before the next attempt to connect. They double each time, with jitter, so that nodes that lost Redis
/// together do not reconnect together.
package struct RedisReconnection: Hashable, Sendable {
    /// The delay after the first failure.
    package var base: Duration = .milliseconds(50)
    /// The maximum delay. After a connection that lasted as long, delays start again at `base`.
    package var longest: Duration = .seconds(2)
    /// The delay after Redis rejected the login, which only an operator can fix.
    package var afterRefusal: Duration = .seconds(10)

    /// Returns a random delay between half of `min(longest, base * 2^failures)` and all of it.
    /// - Parameter failures: the number of failed attempts before this one's failure.
    func delay(afterFailures failures: Int, using generator: inout some RandomNumberGenerator) -> Duration {
        let doublings = min(failures, Self.maximumDoublings)
        return min(longest, base * (1 << doublings)) * Double.random(in: 0.5...1, using: &generator)
    }

    /// Returns a random delay between half of `afterRefusal` and all of it.
    func delayAfterRefusal(using generator: inout some RandomNumberGenerator) -> Duration {
        afterRefusal * Double.random(in: 0.5...1, using: &generator)
    }

    private static let maximumDoublings = 20
}
