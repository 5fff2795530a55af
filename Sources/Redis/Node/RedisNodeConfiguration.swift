// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// A node's address, login, deadlines and limits.
public struct RedisNodeConfiguration: Sendable {
    /// The node's address.
    public var address: RedisAddress
    /// The TLS settings; nil for a connection without TLS.
    public var tls: RedisTLS?
    /// The login; without a password there is none.
    public var credentials = RedisURL.Credentials()
    /// The number of the database. 0 is not selected, so that it works in a cluster and with Sentinel.
    public var database = 0
    /// The name in `CLIENT LIST`, without spaces.
    public var clientName = "receipt-gateway"
    /// The time limit of a command.
    public var commandDeadline: Duration = .milliseconds(50)
    /// The time limit of one attempt to connect, from name resolution to the last reply of the login.
    public var connectDeadline: Duration = .milliseconds(250)
    /// The scripts that every connection loads before it takes commands.
    public var scripts: [RedisScript] = []
    /// The key prefixes whose changes are announced; none is a prefix of another. If it and `channels` are empty, there
    /// is no subscriber connection.
    public var trackedPrefixes: [String] = []
    /// The further channels to subscribe to.
    public var channels: [String] = []
    /// The interval of the subscriber connection's pings; it ends after three without a reply.
    public var pingInterval: Duration = .seconds(1)
    /// The delays before a connection is made again.
    public var reconnection = RedisReconnection()
    /// The limits of memory.
    public var limits = Limits()

    /// Creates the configuration of a node without TLS and login.
    public init(address: RedisAddress) { self.address = address }

    /// The limits of one connection.
    public struct Limits: Hashable, Sendable {
        /// Commands in flight. One that timed out counts until its reply or the connection's end.
        public var maximumPipelined = 4096
        /// Bytes not yet written to the socket; further commands are rejected.
        public var maximumUnsentBytes = 8 << 20
        /// The bytes of one reply.
        public var maximumReplyBytes = 8 << 20
        /// The elements of one reply, in all its arrays together.
        public var maximumReplyElements = 65536
        /// The nesting of arrays; hiredis supports 7.
        public var maximumReplyNesting = 7

        /// Creates the default limits.
        public init() {}
    }
}

extension RedisNodeConfiguration: CustomStringConvertible, CustomReflectable {
    /// The address only.
    public var description: String { "\(address)" }
    /// Empty: the password is in here.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

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
