// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// Whoever counts, logs, or forgets what Redis says has changed.
public protocol RedisObserver: Sendable {
    /// Something happened. Called from any thread, mostly on an event loop: must return soon and never block.
    func observe(_ event: RedisEvent)
}

/// What happens on the way to one node.
public enum RedisEvent: Hashable, Sendable {
    /// A connection logged in and may be used.
    case connected(RedisConnectionRole)
    /// An attempt to connect failed.
    case connectFailed(RedisConnectionRole, RedisConnectionFault)
    /// A connection that was in use ended.
    case disconnected(RedisConnectionRole, RedisConnectionFault)
    /// A command has its outcome: nil for a reply, `.refused` for an error of Redis's.
    case commandDone(RedisError?, took: Duration)
    /// These names changed, expired or were deleted.
    case invalidated([[UInt8]])
    /// Anything under the tracked prefixes may have changed.
    case flushed(RedisFlush)
    /// Somebody published this on one of `channels`.
    case published(channel: String, message: [UInt8])
    /// Something about the way several nodes belong together.
    case topology(RedisTopologyEvent)
}

/// Why all that is known of the tracked names may be out of date.
public enum RedisFlush: Hashable, Sendable {
    /// `FLUSHALL` or `FLUSHDB`.
    case told
    /// From now on there are no announcements.
    case subscriberLost
    /// From now on there are announcements (again); what was kept until now was not announced.
    case subscribed
}

/// What a connection is for.
public enum RedisConnectionRole: String, CaseIterable, Hashable, Sendable {
    /// Commands and replies.
    case commands
    /// Announcements.
    case subscriber
}

/// Why there is no connection (any more).
public enum RedisConnectionFault: Error, Hashable, Sendable {
    /// Nobody listens there, the name is not known, or no answer in time; in words of the system's, for logs.
    case unreachable(String)
    /// The TLS handshake failed, in words of the library's, for logs.
    case tls(String)
    /// Replies did not come in time, those of the login or those of commands.
    case stalled
    /// What came breaks the protocol or our limits.
    case protocolViolation
    /// The other side or the network ended it.
    case closed
    /// Redis refused something without which the connection is of no use.
    case refused(RedisRefusal)
    /// We did.
    case shutDown
}

/// How one node is.
public enum RedisHealth: Hashable, Sendable {
    /// This many connections take commands, at least one.
    case connected(Int)
    /// None does; why, and nil before the first attempt has ended.
    case disconnected(RedisConnectionFault?)
    /// Redis refuses what only an operator can mend: the login, or lately a command that the user may not use. Also
    /// while connections stand.
    case misconfigured(RedisRefusal)
}
