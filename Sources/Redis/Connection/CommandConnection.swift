// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// The state machine of a connection for commands.
///
/// A command without a reply at its deadline fails, and its entry in the pipeline stays (`Pipeline`). If the oldest
/// reply is `stallFactor` deadlines late, the connection ends (a frozen Redis, a network that drops packets). Then
/// commands fail at once instead of at their deadlines.
struct CommandConnection<Waiter>: ConnectionMachine {
    private enum Phase {
        case loggingIn(Login, until: NIODeadline)
        case ready
        /// The role or login has changed: no more commands, but replies to earlier ones still arrive.
        case leaving(RedisConnectionFault)
        case ended
    }

    private var phase: Phase
    private var pipeline = Pipeline<Waiter>()
    private let deadlineOfCommands: TimeAmount
    private let maximumPipelined: Int

    /// - Parameter until: the deadline of the login.
    init(_ configuration: RedisNodeConfiguration, until: NIODeadline) {
        phase = .loggingIn(Login(configuration, loadsScripts: true), until: until)
        deadlineOfCommands = TimeAmount(configuration.commandDeadline)
        maximumPipelined = configuration.limits.maximumPipelined
    }

    /// The deadlines by which a reply may be late before the connection ends.
    private static var stallFactor: Int64 { 10 }

    mutating func begin() -> [RedisCommand] {
        guard case .loggingIn(let login, _) = phase else { return [] }
        return login.commands
    }

    /// Adds commands to the pipeline.
    /// - Parameter since: the time of the caller's request, at which the deadline starts.
    /// - Returns: the reason for a rejection; nil if the commands may be sent now.
    mutating func submit(_ waiter: Waiter, commands: Int, since: NIODeadline, at now: NIODeadline) -> RedisError? {
        guard case .ready = phase else { return .notConnected }
        guard now < since + deadlineOfCommands else { return .timeout }
        guard pipeline.waitingCommands + commands <= maximumPipelined else { return .pipelineFull }
        pipeline.append(waiter, commands: commands, since: since)
        return nil
    }

    mutating func receive(_ reply: RedisValue, at now: NIODeadline) -> ConnectionAction<Waiter> {
        switch phase {
        case .loggingIn(var login, let until):
            let action: ConnectionAction<Waiter>? = login.receive(reply)
            phase = action == nil ? .ready : .loggingIn(login, until: until)
            return action ?? .becomeReady
        case .ready, .leaving: return deliver(reply)
        case .ended: return .nothing
        }
    }

    private mutating func deliver(_ reply: RedisValue) -> ConnectionAction<Waiter> {
        var result = Result<RedisValue, RedisError>.success(reply)
        if case .error(let refusal) = reply {
            result = .failure(.refused(refusal))
            // A new connection finds the new master behind the same name, or logs in again.
            if refusal.kind == .readOnly || refusal.kind == .noAuth { phase = .leaving(.refused(refusal)) }
        }
        var delivery: Delivery<Waiter>?
        guard pipeline.receive(result, &delivery) else { return .end(.protocolViolation) }
        if let delivery { return .deliver(delivery, thenEnd: whyToEnd) }
        return whyToEnd.map { .end($0) } ?? .nothing
    }

    private var whyToEnd: RedisConnectionFault? {
        guard case .leaving(let fault) = phase, pipeline.isEmpty else { return nil }
        return fault
    }

    var deadline: NIODeadline? {
        switch phase {
        case .loggingIn(_, let until): return until
        case .ready, .leaving:
            let timeout = pipeline.oldestWaiting.map { $0 + deadlineOfCommands }
            let stall = pipeline.oldest.map { $0 + deadlineOfCommands * Self.stallFactor }
            return [timeout, stall].compactMap { $0 }.min()
        case .ended: return nil
        }
    }

    mutating func deadlinePassed(at now: NIODeadline) -> ConnectionAction<Waiter> {
        if case .loggingIn = phase { return .end(.stalled) }
        if let oldest = pipeline.oldestWaiting, oldest + deadlineOfCommands <= now,
            let delivery = pipeline.timeOutOldestWaiting()
        {
            return .deliver(delivery, thenEnd: nil)
        }
        if let oldest = pipeline.oldest, oldest + deadlineOfCommands * Self.stallFactor <= now {
            return .end(.stalled)
        }
        return .nothing
    }

    mutating func end(_ fault: RedisConnectionFault) -> [Delivery<Waiter>] {
        phase = .ended
        return pipeline.end(fault.meaningForCommands)
    }
}

extension RedisConnectionFault {
    var meaningForCommands: RedisError {
        switch self {
        case .shutDown: .shutDown
        case .protocolViolation: .protocolViolation
        case .unreachable, .tls, .stalled, .closed, .refused: .connectionLost
        }
    }
}
