// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// The state machine of a connection that receives changes of tracked keys, and messages of channels.
///
/// RESP2 tracking sends changes to a connection that has subscribed to `__redis__:invalidate`. Here the same connection
/// enabled tracking. With a second connection, the end of the tracking connection would stop the announcements without
/// notice at the subscriber.
struct SubscriberConnection: ConnectionMachine {
    typealias Waiter = Never

    private enum Phase {
        case loggingIn(Login)
        case requestingID
        case enablingTracking
        case subscribing(missing: Int)
        case subscribed
        case ended
    }

    private var phase: Phase
    private let prefixes: [String]
    private let channels: [String]
    private let readyUntil: NIODeadline
    private let pingInterval: TimeAmount
    private var lastReceived: NIODeadline
    private var pinged: NIODeadline

    static let invalidations = "__redis__:invalidate"
    /// The ping intervals without any data after which the connection is stalled.
    private static let silentIntervals: Int64 = 3

    init(_ configuration: RedisNodeConfiguration, until: NIODeadline) {
        phase = .loggingIn(Login(configuration, loadsScripts: false))
        prefixes = configuration.trackedPrefixes
        channels = (prefixes.isEmpty ? [] : [Self.invalidations]) + configuration.channels
        readyUntil = until
        pingInterval = TimeAmount(configuration.pingInterval)
        lastReceived = until
        pinged = until
    }

    mutating func begin() -> [RedisCommand] {
        guard case .loggingIn(let login) = phase else { return [] }
        return login.commands
    }

    mutating func receive(_ reply: RedisValue, at now: NIODeadline) -> ConnectionAction<Never> {
        lastReceived = now
        if case .loggingIn(var login) = phase {
            if let action: ConnectionAction<Never> = login.receive(reply) {
                phase = .loggingIn(login)
                return action
            }
            return loggedIn()
        }
        if case .error(let refusal) = reply { return .end(.refused(refusal)) }
        return take(reply, at: now)
    }

    private mutating func loggedIn() -> ConnectionAction<Never> {
        if prefixes.isEmpty {
            phase = .subscribing(missing: channels.count)
            return .send([subscription])
        }
        phase = .requestingID
        return .send([RedisCommand("CLIENT", "ID")])
    }

    private mutating func take(_ reply: RedisValue, at now: NIODeadline) -> ConnectionAction<Never> {
        switch (phase, reply) {
        case (.requestingID, .integer(let id)):
            phase = .enablingTracking
            return .send([tracking(id), subscription])
        case (.enablingTracking, .status):
            phase = .subscribing(missing: channels.count)
            return .nothing
        case (.subscribing(let missing), .array(let parts)) where parts.first == .string(Array("subscribe".utf8)):
            return subscribed(missing: missing - 1, at: now)
        case (.subscribing, .array(let parts)), (.subscribed, .array(let parts)): return receive(parts)
        case (.ended, _): return .nothing
        default: return .end(.protocolViolation)
        }
    }

    private mutating func subscribed(missing: Int, at now: NIODeadline) -> ConnectionAction<Never> {
        phase = missing == 0 ? .subscribed : .subscribing(missing: missing)
        pinged = now
        return missing == 0 ? .becomeReady : .nothing
    }

    private func receive(_ parts: [RedisValue]) -> ConnectionAction<Never> {
        if parts.first == .string(Array("pong".utf8)) { return .nothing }
        guard parts.count == 3, parts[0] == .string(Array("message".utf8)), let name = parts[1].text else {
            return .end(.protocolViolation)
        }
        switch parts[2] {
        case .null where name == Self.invalidations: return .observe(.flushed(.told))
        case .array(let names) where name == Self.invalidations:
            return .observe(.invalidated(names.compactMap(\.bytes)))
        case .string(let message): return .observe(.published(channel: name, message: message))
        default: return .end(.protocolViolation)
        }
    }

    private func tracking(_ id: Int64) -> RedisCommand {
        let about: [RedisWord] = prefixes.flatMap { prefix in ["PREFIX", RedisWord(prefix)] as [RedisWord] }
        return RedisCommand(["CLIENT", "TRACKING", "ON", "REDIRECT", RedisWord(id), "BCAST"] + about, key: nil)
    }

    private var subscription: RedisCommand {
        RedisCommand(["SUBSCRIBE"] + channels.map { RedisWord($0) }, key: nil)
    }

    var deadline: NIODeadline? {
        switch phase {
        case .subscribed: min(pinged + pingInterval, silentUntil)
        case .ended: nil
        default: readyUntil
        }
    }

    private var silentUntil: NIODeadline { lastReceived + pingInterval * Self.silentIntervals }

    mutating func deadlinePassed(at now: NIODeadline) -> ConnectionAction<Never> {
        guard case .subscribed = phase, now < silentUntil else { return .end(.stalled) }
        guard pinged + pingInterval <= now else { return .nothing }
        pinged = now
        return .send([RedisCommand("PING")])
    }

    mutating func end(_ fault: RedisConnectionFault) -> [Delivery<Never>] {
        phase = .ended
        return []
    }
}
