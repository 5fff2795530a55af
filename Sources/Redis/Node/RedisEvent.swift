// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// Receives events, for metrics, logs and cache invalidation.
package protocol RedisObserver: Sendable {
    /// Handles an event. Called from any thread, mostly on an event loop: must be fast and never block.
    func observe(_ event: RedisEvent)
}

package enum RedisEvent: Hashable, Sendable {
    case connected(RedisConnectionRole)
    case connectFailed(RedisConnectionRole, RedisConnectionFault)
    case disconnected(RedisConnectionRole, RedisConnectionFault)
    /// These keys changed, expired or were deleted.
    case invalidated([[UInt8]])
    /// Any key under the tracked prefixes may have changed.
    case flushed(RedisFlush)
    case published(channel: String, message: [UInt8])
    case redirected(RedisRefusal.Kind)
    case mastersChanged(Set<RedisAddress>)
    case mastersUnknown
}

/// The reason why everything known about tracked keys may be out of date.
package enum RedisFlush: Hashable, Sendable {
    /// Redis executed `FLUSHALL` or `FLUSHDB`.
    case told
    /// Announcements have stopped.
    case subscriberLost
    /// Announcements begin, or begin again; earlier changes were not announced.
    case subscribed
}

package enum RedisConnectionRole: String, CaseIterable, Hashable, Sendable {
    case commands
    /// Announcements.
    case subscriber
}

package enum RedisConnectionFault: Error, Hashable, Sendable {
    /// No server accepted, the name is unknown, or connecting timed out; with a reason for logs.
    case unreachable(String)
    case tls(RedisTLSFault)
    /// Replies were not in time, during the login or later.
    case stalled
    /// A reply breaks the protocol or our limits.
    case protocolViolation
    /// The other side or the network closed it.
    case closed
    /// Redis rejected a command that the connection requires.
    case refused(RedisRefusal)
    /// This process closed it.
    case shutDown
}

extension RedisConnectionFault {
    /// True if only the operator can end the fault.
    package var isConfigurationFault: Bool {
        switch self {
        case .refused(let refusal): refusal.isConfigurationFault
        case .tls(let fault): fault.isPermanent
        case .unreachable, .stalled, .protocolViolation, .closed, .shutDown: false
        }
    }

    /// True if the next login fails as well, unless the operator changes something.
    var isLasting: Bool { if case .refused(let refusal) = self { !refusal.isPassing } else { isConfigurationFault } }
}

package enum RedisHealth: Hashable, Sendable {
    /// The number of connections that take commands, at least one.
    case connected(Int)
    /// No connection takes commands; nil before the first attempt has ended.
    case disconnected(RedisConnectionFault?)
    /// Redis rejects the login, or recently a command that the user has no permission for, or TLS fails for good: the
    /// operator must fix it. Also with usable connections.
    case misconfigured(RedisConnectionFault)

    /// Combines the states of several nodes: faults for the operator first, then connections.
    static func combined(_ all: some Sequence<RedisHealth>) -> RedisHealth {
        all.reduce(.disconnected(nil)) { sum, next in
            switch (sum, next) {
            case (.misconfigured, _): sum
            case (_, .misconfigured): next
            case (.connected(let some), .connected(let more)): .connected(some + more)
            case (.connected, .disconnected): sum
            case (.disconnected, .connected): next
            case (.disconnected(let fault), .disconnected(let other)): .disconnected(fault ?? other)
            }
        }
    }
}

extension RedisError {
    /// True if the node may be gone, frozen, replaced or no longer a master.
    var castsDoubtOnTopology: Bool {
        switch self {
        case .notConnected, .connectionLost, .timeout: true
        case .pipelineFull, .protocolViolation, .shutDown: false
        case .refused(let refusal):
            switch refusal.kind {
            case .moved, .clusterDown, .readOnly, .loading, .masterDown: true
            default: false
            }
        }
    }
}
