// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// Runs a `ConnectionMachine`: reads and writes bytes, sets the timer, ends the connection.
///
/// Nothing is sent before `begin`: several addresses of a name may be tried, and only the first to connect logs in.
final class ConnectionHandler<Machine: ConnectionMachine>: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// The functions that receive events. Called on the event loop.
    struct Reports {
        let ready: () -> Void
        let ended: (RedisConnectionFault) -> Void
        let deliver: (Delivery<Machine.Waiter>) -> Void
        let observe: (RedisEvent) -> Void
    }

    private var machine: Machine
    private let reader: ReplyReader
    private var context: ChannelHandlerContext?
    private var reports: Reports?
    private var timer: (task: Scheduled<Void>, due: NIODeadline)?
    private var isFlushScheduled = false
    private var fault: RedisConnectionFault?

    init(_ machine: Machine, limits: RedisNodeConfiguration.Limits) throws {
        self.machine = machine
        reader = try ReplyReader(limits: limits)
    }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) {
        end(.closed)
        self.context = nil
    }

    /// Logs in: this connection is in use.
    func begin(_ reports: Reports) {
        if let fault { return reports.ended(fault) }
        self.reports = reports
        send(machine.begin())
        setTimer()
    }

    // MARK: - Bytes

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard fault == nil else { return }
        do throws(ReplyFault) {
            try reader.feed(Self.unwrapInboundIn(data).readableBytesView)
            let now = NIODeadline.now()
            while fault == nil, let reply = try reader.next() { carryOut(machine.receive(reply, at: now)) }
            setTimer()
        } catch {
            end(.protocolViolation)
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        end(.closed)
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        end(RedisTLSFault(error).map { .tls($0) } ?? .closed)
    }

    /// Writes commands, and flushes once at the end of this event loop iteration.
    private func write(_ bytes: ByteBuffer) {
        guard let context else { return }
        context.write(Self.wrapOutboundOut(bytes), promise: nil)
        guard !isFlushScheduled else { return }
        isFlushScheduled = true
        context.eventLoop.assumeIsolated().execute {
            self.isFlushScheduled = false
            self.context?.flush()
        }
    }

    private func send(_ commands: [RedisCommand]) {
        guard let bytes = ByteBuffer(commands: commands) else { return end(.protocolViolation) }
        write(bytes)
    }

    /// - Returns: the reason for a rejection; nil if they were sent.
    func submit<Caller>(_ request: Request<Caller>) -> RedisError? where Machine == CommandConnection<Caller> {
        guard let context, fault == nil else { return .notConnected }
        guard context.channel.isWritable else { return .pipelineFull }
        let refusal = machine.submit(request.caller, commands: request.commands, since: request.since, at: .now())
        if let refusal { return refusal }
        write(request.bytes)
        setTimer()
        return nil
    }

    // MARK: - Actions

    private func carryOut(_ action: ConnectionAction<Machine.Waiter>) {
        switch action {
        case .nothing: break
        case .send(let commands): send(commands)
        case .becomeReady: reports?.ready()
        case .deliver(let delivery, let fault):
            reports?.deliver(delivery)
            if let fault { end(fault) }
        case .observe(let event): reports?.observe(event)
        case .end(let fault): end(fault)
        }
    }

    /// Ends the connection once: completes all waiters, then closes the socket.
    func end(_ fault: RedisConnectionFault) {
        guard self.fault == nil else { return }
        self.fault = fault
        timer?.task.cancel()
        for delivery in machine.end(fault) { reports?.deliver(delivery) }
        reports?.ended(fault)
        reports = nil
        context?.close(promise: nil)
    }

    /// Sets the connection's only timer. It is moved only to an earlier time: under load it fires once per deadline's
    /// length, not once per command.
    private func setTimer() {
        guard fault == nil, let context, let due = machine.deadline else { return }
        if let timer {
            guard due < timer.due else { return }
            timer.task.cancel()
        }
        let task = context.eventLoop.assumeIsolated().scheduleTask(deadline: due) { self.timerFired() }
        timer = (task, due)
    }

    private func timerFired() {
        timer = nil
        let now = NIODeadline.now()
        while fault == nil, let due = machine.deadline, due <= now { carryOut(machine.deadlinePassed(at: now)) }
        setTimer()
    }
}

struct Request<Caller: Sendable>: Sendable {
    let bytes: ByteBuffer
    let commands: Int
    /// The time of the caller's request.
    let since: NIODeadline
    let caller: Caller
}

extension ByteBuffer {
    /// Writes the commands in order, in RESP: arrays of bulk strings. Nil if a command has no words: Redis would not reply.
    init?(commands: [RedisCommand]) {
        self.init()
        for command in commands {
            guard !command.words.isEmpty else { return nil }
            writeString("*\(command.words.count)\r\n")
            for word in command.words {
                writeString("$\(word.bytes.count)\r\n")
                writeBytes(word.bytes)
                writeString("\r\n")
            }
        }
    }
}
