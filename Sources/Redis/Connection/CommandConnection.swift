// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// The rules of a connection that carries commands.
///
/// A command has a deadline. If no reply came by then, its caller is told, and its place in the pipeline stays
/// (`Pipeline`). If the oldest reply is `stallFactor` times as late, nothing comes here any more (a frozen Redis, a
/// network that swallows): the connection ends, and commands fail at once instead of waiting for their deadlines.
struct CommandConnection<Waiter>: ConnectionMachine {
    private enum Phase {
        case loggingIn(Login, until: NIODeadline)
        case ready
        /// No more commands: Redis is not what it was when the connection was made. The replies under way still come.
        case leaving(RedisConnectionFault)
        case ended
    }

    private var phase: Phase
    private var pipeline = Pipeline<Waiter>()
    private let deadlineOfCommands: TimeAmount
    private let maximumPipelined: Int

    /// A connection that was just made.
    /// - Parameter until: when the login must be done.
    init(_ configuration: RedisNodeConfiguration, until: NIODeadline) {
        phase = .loggingIn(Login(configuration, loadsScripts: true), until: until)
        deadlineOfCommands = TimeAmount(configuration.commandDeadline)
        maximumPipelined = configuration.limits.maximumPipelined
    }

    /// How many deadlines a reply may be late before the connection ends.
    private static var stallFactor: Int64 { 10 }

    mutating func begin() -> [RedisCommand] {
        guard case .loggingIn(let login, _) = phase else { return [] }
        return login.commands
    }

    /// Somebody wants to send commands.
    /// - Parameter since: when they decided to; the deadline counts from then.
    /// - Returns: why not; nil to send them now.
    mutating func submit(
        _ waiter: Waiter, commands: Int, since: NIODeadline, at now: NIODeadline
    ) -> RedisError? {
        guard case .ready = phase else { return .notConnected }
        guard now < since + deadlineOfCommands else { return .timeout }
        guard pipeline.waitingCommands + commands <= maximumPipelined else { return .pipelineFull }
        pipeline.append(waiter, commands: commands, since: since)
        return nil
    }

    mutating func receive(_ reply: RedisValue, at now: NIODeadline) -> ConnectionAction<Waiter> {
        switch phase {
        case .loggingIn(var login, let until):
            let progress = login.receive(reply)
            phase = .loggingIn(login, until: until)
            return follow(progress)
        case .ready, .leaving: return deliver(reply)
        case .ended: return .nothing
        }
    }

    private mutating func follow(_ progress: Login.Progress) -> ConnectionAction<Waiter> {
        switch progress {
        case .going: return .nothing
        case .refused(let refusal): return .end(.refused(refusal))
        case .done:
            phase = .ready
            return .becomeReady
        }
    }

    private mutating func deliver(_ reply: RedisValue) -> ConnectionAction<Waiter> {
        var result = Result<RedisValue, RedisError>.success(reply)
        if case .error(let refusal) = reply {
            result = .failure(.refused(refusal))
            // Whoever connects again finds the new master behind the same name, or logs in again.
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
    /// What is told to those whose commands were under way.
    var meaningForCommands: RedisError {
        switch self {
        case .shutDown: .shutDown
        case .protocolViolation: .protocolViolation
        case .unreachable, .tls, .stalled, .closed, .refused: .connectionLost
        }
    }
}
