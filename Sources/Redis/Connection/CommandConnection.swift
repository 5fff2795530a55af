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
        /// The role or login has changed: no more commands, but replies to earlier commands still arrive.
        case leaving(RedisConnectionFault)
        case ended
    }

    private var phase: Phase
    private var pipeline = Pipeline<Waiter>()
    private let deadlineOfCommands: TimeAmount
    private let maximumPipelined: Int

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

/// The waiters for replies. Redis replies in the order of commands, so a reply belongs to the oldest command without a
/// reply.
///
/// A command that timed out keeps its entry: a late reply is dropped there, and never given to another command.
struct Pipeline<Waiter> {
    private struct RoundTrip {
        /// Nil after a timeout.
        var waiter: Waiter?
        let commands: Int
        let since: NIODeadline
    }

    private var roundTrips: CircularBuffer<RoundTrip> = []
    /// The replies to the oldest round trip so far.
    private var received: RedisResults = []
    /// The number of round trips, from the oldest on, that have timed out.
    private var timedOut = 0
    private(set) var waitingCommands = 0

    var isEmpty: Bool { roundTrips.isEmpty }
    /// The start of the oldest round trip without all replies, timed out or not.
    var oldest: NIODeadline? { roundTrips.first?.since }
    var oldestWaiting: NIODeadline? { firstWaiting.map { roundTrips[$0].since } }
    private var firstWaiting: CircularBuffer<RoundTrip>.Index? {
        timedOut < roundTrips.count ? roundTrips.index(roundTrips.startIndex, offsetBy: timedOut) : nil
    }

    mutating func append(_ waiter: Waiter, commands: Int, since: NIODeadline) {
        roundTrips.append(RoundTrip(waiter: waiter, commands: commands, since: since))
        waitingCommands += commands
    }

    /// Records a reply, and sets the delivery if it completes a round trip with a waiter.
    /// - Returns: false if no reply was expected.
    mutating func receive(_ result: Result<RedisValue, RedisError>, _ delivery: inout Delivery<Waiter>?) -> Bool {
        guard let first = roundTrips.first else { return false }
        received.append(result)
        waitingCommands -= 1
        if received.count == first.commands { delivery = finishFirst() }
        return true
    }

    private mutating func finishFirst() -> Delivery<Waiter>? {
        let first = roundTrips.removeFirst()
        defer { received = [] }
        timedOut = max(0, timedOut - 1)
        return first.waiter.map { Delivery(waiter: $0, results: received) }
    }

    mutating func timeOutOldestWaiting() -> Delivery<Waiter>? {
        guard let index = firstWaiting else { return nil }
        let delivery = fail(at: index, with: .timeout)
        roundTrips.modify(index) { $0.waiter = nil }
        timedOut += 1
        return delivery
    }

    /// Fails all waiters: no more replies will come.
    mutating func end(_ error: RedisError) -> [Delivery<Waiter>] {
        let deliveries = roundTrips.indices.compactMap { fail(at: $0, with: error) }
        self = Self()
        return deliveries
    }

    private func fail(at index: CircularBuffer<RoundTrip>.Index, with error: RedisError) -> Delivery<Waiter>? {
        let roundTrip = roundTrips[index]
        guard let waiter = roundTrip.waiter else { return nil }
        let before = index == roundTrips.startIndex ? received : []
        let missing = roundTrip.commands - before.count
        return Delivery(waiter: waiter, results: before + Array(repeating: .failure(error), count: missing))
    }
}
