// SPDX-License-Identifier: Apache-2.0

internal import NIOSSL

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

/// The reason why TLS with Redis failed. Logs and the API have the raw values.
package enum RedisTLSFault: String, CaseIterable, Hashable, Sendable {
    /// The certificate of Redis has expired, or no trusted authority issued it.
    case certificateUntrusted = "certificate_untrusted"
    case certificateOfOtherHost = "certificate_of_other_host"
    case clientCertificateRequired = "client_certificate_required"
    /// Redis rejects the client certificate, or has no algorithm in common with this program.
    case clientCertificateRejected = "client_certificate_rejected"
    /// The server at the port does not use TLS.
    case notTLS = "not_tls"
    /// The handshake was cut short, or failed for a reason that is not known to be permanent.
    case interrupted

    /// True if the next attempt fails as well, unless the operator changes something.
    package var isPermanent: Bool { self != .interrupted }

    /// Creates the fault of a channel error; nil for an error that TLS did not cause.
    init?(_ error: any Error) {
        switch error {
        case let error as NIOSSLExtraError:
            self = error == .failedToValidateHostname ? .certificateOfOtherHost : .interrupted
        case let error as BoringSSLError: self.init(libraryText: "\(error)")
        case NIOSSLError.handshakeFailed(let error): self.init(libraryText: "\(error)")
        default: return nil
        }
    }

    /// - Parameter text: BoringSSL's text, which has the name of the reason, and a path of the machine that built it.
    private init(libraryText text: String) {
        let reasons: [(fault: Self, names: [String])] = [
            (.certificateUntrusted, ["CERTIFICATE_VERIFY_FAILED"]),
            (.clientCertificateRequired, ["CERTIFICATE_REQUIRED"]),
            (
                .clientCertificateRejected,
                [
                    "ALERT_UNKNOWN_CA", "ALERT_BAD_CERTIFICATE", "ALERT_CERTIFICATE_", "ALERT_UNSUPPORTED_CERTIFICATE",
                    "ALERT_ACCESS_DENIED", "ALERT_HANDSHAKE_FAILURE", "ALERT_PROTOCOL_VERSION", "UNSUPPORTED_PROTOCOL",
                ]
            ),
            (.notTLS, ["WRONG_VERSION_NUMBER"]),
        ]
        self = reasons.first { $0.names.contains { text.contains($0) } }?.fault ?? .interrupted
    }
}
