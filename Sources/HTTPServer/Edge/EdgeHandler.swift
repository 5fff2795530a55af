// SPDX-License-Identifier: Apache-2.0

internal import Clients
internal import NIOCore
internal import Resilience
internal import Telemetry

/// The handler of one connection. It parses what arrives, performs the actions of `EdgeConnection`, passes complete
/// requests to the pipeline, and writes the answers.
///
/// Received bytes wait unparsed while a request is answered. The socket is not read once bytes wait, so these are the
/// rest of one read and another read. Once the client has closed its half, they are all that the system had received.
final class EdgeHandler: ChannelDuplexHandler {
    enum Limits {
        /// The maximum bytes that wait unparsed. Of more, the complete requests are answered, and the next is refused.
        static let receivedBytes = 1 << 20
    }

    typealias InboundIn = ByteBuffer
    typealias OutboundIn = Never
    typealias OutboundOut = ByteBuffer

    private let edge: Edge
    /// The client that a load balancer has named; nil if the peer is the client.
    private let client: NetworkAddress?
    private var connection: EdgeConnection
    private var parser: RequestParser
    private var received = ByteBuffer()
    private var isTruncated = false
    /// True if input may wait: for the previous answer, for other connections, or for a client that does not read its
    /// answers.
    private var hasInput = false
    /// True if the client has closed its half of the connection, and the input before that is not processed yet.
    private var endsInput = false
    private var timer: (deadline: NIODeadline, task: Scheduled<Void>)?
    private var isCountedInFlight = false
    private var source = ConnectionSource.unknown
    private var streaming: Task<Void, Never>?
    /// The wait for an answer that ends with the client; nil for an answer that other requests may have joined.
    private var waiting: Task<Void, Never>?
    private var isHalfClosed = false

    init(
        _ edge: Edge, _ limits: HTTPLimits, client: NetworkAddress? = nil, handshakeDeadline: TimeAmount? = nil
    ) {
        (self.edge, self.client) = (edge, client)
        parser = RequestParser(limits)
        connection = EdgeConnection(
            rules: edge.rules, routes: edge.pipeline.routes, budget: edge.budget, handshakeDeadline: handshakeDeadline,
            at: .now())
    }

    func handlerAdded(context: ChannelHandlerContext) {
        edge.metrics?.connections.increment(by: 1)
        acquireSlot(context)
        do { try context.channel.useFreshReceiveBuffers() } catch { context.close(promise: nil) }
        setTimer(context)
    }

    private func acquireSlot(_ context: ChannelHandlerContext) {
        connection.peer = client ?? context.channel.peer
        guard let sources = edge.sources else { return }
        source = sources.source(of: connection.peer)
        if source == .refused { edge.metrics?.connectionsRefused.increment() }
        connection.forwarded = ForwardedRequest(source, sources)
        if case .address(let address) = source { connection.source = address }
    }

    /// True for a connection beyond its address's limit.
    var isRefused: Bool { source == .refused }

    /// Closes a connection beyond its address's limit before anything is read from it.
    func channelActive(context: ChannelHandlerContext) {
        guard !isRefused else { return context.close(promise: nil) }
        context.fireChannelActive()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        edge.metrics?.connections.increment(by: -1)
        edge.sources?.end(source)
        source = .unknown
        end()
    }

    func channelInactive(context: ChannelHandlerContext) {
        end()
        context.fireChannelInactive()
    }

    private func end() {
        connection.ended()
        countInFlight()
        dropInput()
        timer?.task.cancel()
        timer = nil
        endWait()
        (streaming, waiting) = (nil, nil)
    }

    /// Ends a stream, and a wait for something to happen. The client has closed its half of the connection, so it is
    /// probably gone, and other clients need its place. A client that still reads gets what there is.
    private func endWait() {
        streaming?.cancel()
        waiting?.cancel()
    }

    private func countInFlight() {
        guard connection.isAnswering != isCountedInFlight else { return }
        isCountedInFlight.toggle()
        edge.metrics?.requestsInFlight.increment(by: isCountedInFlight ? 1 : -1)
    }

    // MARK: - Inbound

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        keep(unwrapInboundIn(data))
        hasInput = true
        processInput(context)
    }

    private func keep(_ bytes: ByteBuffer) {
        isTruncated = isTruncated || received.readableBytes + bytes.readableBytes > Limits.receivedBytes
        guard !isTruncated else { return }
        guard received.readableBytes > 0 else { return received = bytes }
        // Otherwise all that was parsed would stay in memory as long as each read ends in the middle of a line.
        received.discardReadBytes()
        received.writeImmutableBuffer(bytes)
    }

    /// The memory of the bytes that wait.
    var receivedCapacity: Int { received.storageCapacity }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case ChannelEvent.inputClosed:
            (hasInput, endsInput, isHalfClosed) = (true, true, true)
            endWait()
            // Nothing follows the request that is being answered.
            if connection.isAnswering, received.readableBytes == 0 { endInput(context) } else { processInput(context) }
        case let secured as SecuredConnection:
            connection.secured(with: secured.certificate, at: .now())
            settle(context)
        case is ChannelShouldQuiesceEvent:
            perform(connection.quiesce(at: .now(), isDelayed: edge.lifecycle.drainsSlowly), context)
        default: context.fireUserInboundEventTriggered(event)
        }
    }

    /// Parses and processes input up to the next answer.
    private func processInput(_ context: ChannelHandlerContext) {
        guard context.channel.isWritable else { return }
        defer { settle(context) }
        let now = NIODeadline.now()
        while hasInput, !connection.isAnswering {
            guard connection.wantsInput else { return dropRest(context) }
            do throws(EdgeRefusal) {
                guard let part = try parser.next(in: &received) else { return keepRest(context) }
                act(connection.receive(part, at: now), context)
            } catch {
                fail(error, context)
            }
        }
        guard received.readableBytes == 0 else { return }
        received = ByteBuffer()
        hasInput = hasInput && (endsInput || isTruncated || parser.isWithinRequest(before: received))
    }

    private func fail(_ refusal: EdgeRefusal, _ context: ChannelHandlerContext) {
        perform(connection.fail(refusal, at: .now()), context)
    }

    /// Keeps the beginning of a part until more arrives; without a beginning, keeps no buffer.
    private func keepRest(_ context: ChannelHandlerContext) {
        hasInput = false
        if received.readableBytes == 0 { received = ByteBuffer() }
        if isTruncated { fail(.overloaded, context) }
        if endsInput { endInput(context) }
    }

    /// Drops what follows the last request of the connection.
    private func dropRest(_ context: ChannelHandlerContext) {
        let hasEnded = endsInput
        dropInput()
        if hasEnded { perform(connection.inputClosed(at: .now()), context) }
    }

    /// Refuses a request that ends in the middle.
    private func endInput(_ context: ChannelHandlerContext) {
        (hasInput, endsInput) = (false, false)
        if parser.isWithinRequest(before: received), !connection.isAnswering { fail(.malformed, context) }
        perform(connection.inputClosed(at: .now()), context)
    }

    private func dropInput() {
        (hasInput, endsInput, isTruncated) = (false, false, false)
        received = ByteBuffer()
    }

    func read(context: ChannelHandlerContext) {
        if connection.wantsRead, !hasInput, context.channel.isWritable { context.read() }
    }

    /// Stops reading from a client that does not read its answers.
    func channelWritabilityChanged(context: ChannelHandlerContext) {
        context.fireChannelWritabilityChanged()
        resume(context)
    }

    private func resume(_ context: ChannelHandlerContext) {
        processInput(context)
        read(context: context)
    }

    // MARK: - Actions

    private func perform(_ action: EdgeConnection.Action, _ context: ChannelHandlerContext) {
        act(action, context)
        settle(context)
    }

    /// Counts the connection, and sets its timer, after its state may have changed.
    private func settle(_ context: ChannelHandlerContext) {
        countInFlight()
        setTimer(context)
    }

    private func act(_ action: EdgeConnection.Action, _ context: ChannelHandlerContext) {
        switch action {
        case .nothing: break
        case .sendContinue: context.writeAndFlush(wrapOutboundOut(.continue), promise: nil)
        case .deliver(let request, let body): answer(request, body, context)
        case .refuse(let refusal, let request, let bodyBytes): refuse(request, refusal, bodyBytes, context)
        case .finish: finish(context)
        case .close: context.close(promise: nil)
        }
    }

    private func answer(_ request: RequestContext, _ body: ReservedBody, _ context: ChannelHandlerContext) {
        let isLarge = body.bytes.readableBytes > RequestPipeline.Limits.eventLoopBodyBytes
        if isLarge || request.match.route?.executor == .thread { return answerElsewhere(request, body, context) }
        proceed(edge.pipeline.begin(request, body), context)
    }

    /// Answers on other threads. The outer task holds the body, and ends before anything is awaited.
    private func answerElsewhere(_ request: RequestContext, _ body: ReservedBody, _ context: ChannelHandlerContext) {
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        Task { [pipeline = edge.pipeline, eventLoop = context.eventLoop] in
            let step = pipeline.begin(request, body).computed()
            Task {
                let reply = await step.value()
                eventLoop.execute {
                    let (handler, context) = bound.value
                    handler.send(reply, context)
                    handler.resume(context)
                }
            }
        }
    }

    /// Takes the next steps. The answer is sent together with other answers. Only then the next pipelined request is
    /// processed, in a turn of its own.
    private func proceed(_ step: Step<Reply, Never>, _ context: ChannelHandlerContext) {
        let turns = EventLoopScheduler.scheduler(of: context.eventLoop)
        // Not a switch: Swift 6.3 crashes over patterns for the cases with closures if `Failure` is `Never`.
        if case .done(let reply) = step {
            turns.send { [self] in
                send(reply, context)
                resume(context)
            }
        } else if step.isComputing {
            turns.verify { [self] in
                if connection.isAnswering { proceed(step.computed(), context) }
            }
        } else {
            wait(for: step, context)
        }
    }

    /// Waits for the next step. The work goes on after the client has gone: other requests may have joined it. Only a wait
    /// for something to happen ends.
    private func wait(for step: Step<Reply, Never>, _ context: ChannelHandlerContext) {
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        let task = Task(executorPreference: LoopExecutor(context.eventLoop)) {
            let next = await step.next()
            let (handler, context) = bound.value
            handler.proceed(next, context)
        }
        guard connection.endsWithClient else { return }
        if isHalfClosed { task.cancel() } else { waiting = task }
    }

    private func refuse(
        _ request: RequestContext?, _ refusal: EdgeRefusal, _ bodyBytes: Int, _ context: ChannelHandlerContext
    ) {
        let requestID = request?.header.requestID ?? RequestID(sent: nil)
        let reply = edge.pipeline.refuse(
            request, requestID, refusal, bodyBytes: bodyBytes, bodyLimit: edge.rules.bodyLimit)
        edge.metrics?.refused(request, refusal, reply.status)
        writeLast(reply.bytes(to: requestID, isLast: true, isHead: parser.isHead), context)
    }

    // MARK: - Answers

    /// Writes a complete answer in one piece; nothing if the client has gone or has received a timeout.
    private func send(_ reply: Reply, _ context: ChannelHandlerContext) {
        let now = NIODeadline.now()
        let answer = connection.beginAnswer(
            isLast: reply.isLast || edge.lifecycle.endsConnection(at: now), hasLength: reply.stream == nil)
        guard let (request, isLast) = answer else { return }
        edge.metrics?.answered(request, reply.status, at: now)
        let version = request.header.version
        let bytes = reply.bytes(to: request.header.requestID, in: version, isLast: isLast, isHead: parser.isHead)
        guard let stream = reply.stream, !parser.isHead else { return end(with: bytes, at: now, context) }
        context.write(wrapOutboundOut(bytes), promise: nil)
        send(stream, isChunked: version.hasChunks, context)
    }

    /// Writes the parts of a stream as they come, each after the system has taken the previous part.
    private func send(_ stream: ReplyStream, isChunked: Bool, _ context: ChannelHandlerContext) {
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        streaming = Task(executorPreference: LoopExecutor(context.eventLoop)) {
            var part = Optional(stream.first), parts = stream.parts.makeAsyncIterator()
            while let bytes = part {
                let (handler, context) = bound.value
                let written = handler.write(isChunked ? bytes.asChunk() : bytes, of: stream, context)
                guard (try? await written.get()) != nil else { return }
                part = await parts.next()
            }
            let (handler, context) = bound.value
            handler.end(with: isChunked ? .lastChunk : ByteBuffer(), at: .now(), context)
            handler.resume(context)
        }
        if isHalfClosed { endWait() }
    }

    private func write(
        _ bytes: ByteBuffer, of stream: ReplyStream, _ context: ChannelHandlerContext
    ) -> EventLoopFuture<Void> {
        guard connection.continueAnswer(at: .now(), partDeadline: stream.partDeadline) else {
            return context.eventLoop.makeFailedFuture(ChannelError.ioOnClosedChannel)
        }
        setTimer(context)
        return context.writeAndFlush(wrapOutboundOut(bytes))
    }

    /// Writes the end of an answer. The next request may follow, or the connection ends.
    private func end(with bytes: ByteBuffer, at now: NIODeadline, _ context: ChannelHandlerContext) {
        guard connection.isAnswering else { return }
        let staysOpen = connection.endAnswer(at: now)
        settle(context)
        if staysOpen { context.writeAndFlush(wrapOutboundOut(bytes), promise: nil) } else { writeLast(bytes, context) }
    }

    /// Closes the connection after the pending bytes are written.
    private func finish(_ context: ChannelHandlerContext) {
        let unwritten = try? context.channel.syncOptions?.getOption(.bufferedWritableBytes)
        guard let unwritten, unwritten > 0 else { return context.close(promise: nil) }
        writeLast(ByteBuffer(), context)
    }

    /// Writes the last bytes of the connection, then closes the output.
    private func writeLast(_ bytes: ByteBuffer, _ context: ChannelHandlerContext) {
        dropInput()
        let written = context.eventLoop.makePromise(of: Void.self)
        written.futureResult.assumeIsolated().whenComplete { [self] _ in
            connection.wroteLastAnswer(at: .now())
            setTimer(context)
            context.close(mode: .output, promise: nil)
            context.read()
        }
        context.writeAndFlush(wrapOutboundOut(bytes), promise: written)
    }

    // MARK: - Time

    /// Ensures that the timer fires no later than the connection's deadline. A timer that fires early is set again:
    /// most deadlines only move away, so a busy connection sets a timer every few seconds, not for each request.
    private func setTimer(_ context: ChannelHandlerContext) {
        guard let deadline = connection.deadline else { return }
        if let set = timer?.deadline, set <= deadline { return }
        timer?.task.cancel()
        let task = context.eventLoop.assumeIsolated().scheduleTask(deadline: deadline) { self.timerFired(context) }
        timer = (deadline, task)
    }

    private func timerFired(_ context: ChannelHandlerContext) {
        timer = nil
        perform(connection.deadlinePassed(at: .now()), context)
    }
}
