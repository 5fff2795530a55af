// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import NIOCore
internal import NIOHTTP1
internal import NIOHTTPTypes
internal import NIOHTTPTypesHTTP1
internal import Receipts

/// Stands between the HTTP decoder and the router of one connection, and carries out what `EdgeConnection` decides.
/// What the router takes and gives is of Hummingbird's types; the rest is never turned into them.
final class EdgeHandler: ChannelDuplexHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    private let edge: Edge
    private var connection: EdgeConnection
    private var pipelined = PipelinedParts()
    private var timer: (deadline: NIODeadline, task: Scheduled<Void>)?
    private var isCountedInFlight = false
    /// Whether a request was answered in this turn of the event loop: then other connections come first.
    private var hasAnswered = false
    private var isGoingOnLater = false
    /// The other end of the connection.
    private var source = ConnectionSource.unknown
    /// Knows of a request whose header is not complete.
    private let decoder: RequestDecoder?
    /// True if the latest request is one for HEAD, whose answers have no body.
    private var isHead = false
    /// What is written here goes to the socket as it is.
    private var encoder: ChannelHandlerContext?
    /// Where the router finds the memory that is reserved for a body.
    private let routed: RoutedReservation

    /// A handler for one new connection.
    init(_ edge: Edge, reading decoder: RequestDecoder? = nil, routed: RoutedReservation = RoutedReservation()) {
        (self.edge, self.decoder, self.routed) = (edge, decoder, routed)
        connection = EdgeConnection(rules: edge.rules, budget: edge.budget, at: .now())
    }

    func handlerAdded(context: ChannelHandlerContext) {
        edge.metrics?.connectionOpened()
        takePlace(context)
        encoder = context.encoder
        useFreshReceiveBuffers(context)
        setTimer(context)
    }

    /// One system call for each connection.
    private func takePlace(_ context: ChannelHandlerContext) {
        guard let sources = edge.sources else { return }
        source = sources.source(of: Peer(context.channel).address)
        if source == .refused { edge.metrics?.connectionRefused() }
        connection.forwarded = ForwardedRequest(source, sources)
    }

    /// A connection beyond its address's limit ends here, before anything is read from it.
    func channelActive(context: ChannelHandlerContext) {
        guard source != .refused else { return context.close(promise: nil) }
        context.fireChannelActive()
    }

    private func useFreshReceiveBuffers(_ context: ChannelHandlerContext) {
        do {
            let options = context.channel.syncOptions
            try options?.setOption(.maxMessagesPerRead, value: 1)
            try options?.setOption(.recvAllocator, value: FreshReceiveBuffers())
        } catch {
            context.fireErrorCaught(error)
        }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        edge.metrics?.connectionClosed()
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
        pipelined.removeAll()
        timer?.task.cancel()
        (timer, encoder) = (nil, nil)
    }

    /// Counts this connection's request in or out, after its state may have changed.
    private func countInFlight() {
        guard connection.isAnswering != isCountedInFlight else { return }
        isCountedInFlight.toggle()
        edge.metrics?.requestsInFlightChanged(by: isCountedInFlight ? 1 : -1)
    }
}

// MARK: - Inbound

extension EdgeHandler {
    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let part = unwrapInboundIn(data)
        guard !holdsBack(context) else { return queue(.part(part)) }
        receive(part, context)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard let unreadable = error as? UnreadableRequest else {
            return context.fireErrorCaught(ConnectionFault.withoutContents(error))
        }
        guard !holdsBack(context) else { return queue(.failure(unreadable)) }
        fail(unreadable, context)
    }

    private func receive(_ part: HTTPServerRequestPart, _ context: ChannelHandlerContext) {
        if case .head(let head) = part { isHead = head.method == .HEAD }
        perform(connection.receive(part, at: .now()), context)
    }

    private func fail(_ unreadable: UnreadableRequest, _ context: ChannelHandlerContext) {
        isHead = unreadable.isHead
        perform(connection.fail(unreadable.refusal, at: .now()), context)
    }

    /// The end of the input and of the server concern this handler alone: the router hears of complete requests and
    /// of the end of the connection.
    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case ChannelEvent.inputClosed where !pipelined.isEmpty: queue(.end)
        case ChannelEvent.inputClosed: perform(connection.inputClosed(at: .now()), context)
        case is ChannelShouldQuiesceEvent: perform(connection.quiesce(at: .now()), context)
        default: context.fireUserInboundEventTriggered(event)
        }
    }

    func read(context: ChannelHandlerContext) {
        if connection.wantsRead, pipelined.isEmpty, context.channel.isWritable { context.read() }
    }

    /// Not for the router: what it is given ends with an event of its own.
    func channelReadComplete(context: ChannelHandlerContext) {
        hasAnswered = false
        goOnLater(context)
        read(context: context)
    }

    /// A client that does not read its answers is not read either.
    func channelWritabilityChanged(context: ChannelHandlerContext) {
        context.fireChannelWritabilityChanged()
        goOnLater(context)
        read(context: context)
    }

    /// Whether what arrives has to wait: for the answer to what came before, for other connections, or for a client that
    /// does not take its answers.
    private func holdsBack(_ context: ChannelHandlerContext) -> Bool {
        connection.isAnswering || hasAnswered || !pipelined.isEmpty || !context.channel.isWritable
    }

    private func queue(_ element: PipelinedParts.Element) {
        pipelined.append(element, limit: edge.rules.pipelinedBytesLimit)
    }

    /// Goes on with what is pipelined, up to the next answer.
    private func goOn(_ context: ChannelHandlerContext) {
        hasAnswered = false
        while !connection.isAnswering, !hasAnswered, context.channel.isWritable, let element = pipelined.popFirst() {
            switch element {
            case .part(let part): receive(part, context)
            case .failure(let unreadable): fail(unreadable, context)
            case .end: perform(connection.inputClosed(at: .now()), context)
            }
        }
        goOnLater(context)
        read(context: context)
    }

    /// Not at once: a thousand pipelined requests would keep all other connections waiting, and nest as deep.
    private func goOnLater(_ context: ChannelHandlerContext) {
        guard !pipelined.isEmpty, !connection.isAnswering, context.channel.isWritable, !isGoingOnLater else { return }
        isGoingOnLater = true
        context.eventLoop.assumeIsolated().execute { [self] in
            isGoingOnLater = false
            goOn(context)
        }
    }
}

// MARK: - Outbound

extension EdgeHandler {
    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard connection.isAnswering else { promise?.fail(ChannelError.ioOnClosedChannel); return }
        switch unwrapOutboundIn(data) {
        case .head(let head) where head.status.kind != .informational: writeHead(head, context, promise)
        case .end: writeEnd(context, promise)
        case let part: writePart(part, context, promise)
        }
    }

    private func writePart(
        _ part: HTTPResponsePart, _ context: ChannelHandlerContext, _ promise: EventLoopPromise<Void>?
    ) {
        if edge.rules.partDeadline != nil {
            connection.continueAnswer(at: .now())
            setTimer(context)
        }
        write(part, context, promise)
    }

    /// After an answer is flushed, the next pipelined request may follow.
    func flush(context: ChannelHandlerContext) {
        context.flush()
        goOnLater(context)
    }

    /// Only this handler closes the output: after the last answer, when it is flushed.
    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        guard mode == .output else { return context.close(mode: mode, promise: promise) }
        promise?.succeed()
    }

    private func writeHead(_ head: HTTPResponse, _ context: ChannelHandlerContext, _ promise: EventLoopPromise<Void>?) {
        let hasLength = head.headerFields[.contentLength] != nil || head.status == .noContent
        let answer = connection.beginAnswer(isDraining: edge.lifecycle.stage == .draining, hasLength: hasLength)
        guard let (request, isLast) = answer else { return }
        edge.metrics?.answered(request, head.status, at: .now())
        var head = head
        head.headerFields[.requestID] = request.header.requestID.text
        if isLast { head.headerFields[.connection] = "close" }
        var sent = HTTPResponseHead(head)
        // The encoder makes chunks of an answer without a length, unless it is one of HTTP/1.0.
        if request.header.isHTTP10 && !hasLength { sent.version = .http1_0 }
        context.write(wrapOutboundOut(.head(sent)), promise: promise)
    }

    private func writeEnd(_ context: ChannelHandlerContext, _ promise: EventLoopPromise<Void>?) {
        routed.put(nil)
        let goesOn = endAnswer(context, promise) { write(.end(nil), context, $0) }
        if goesOn { read(context: context) }
    }

    private func write(
        _ part: HTTPResponsePart, _ context: ChannelHandlerContext, _ promise: EventLoopPromise<Void>? = nil
    ) {
        context.write(wrapOutboundOut(HTTPServerResponsePart(part)), promise: promise)
    }

    /// - Parameter writeLast: writes what completes the answer.
    /// - Returns: whether the connection goes on.
    @discardableResult
    private func endAnswer(
        _ context: ChannelHandlerContext, _ promise: EventLoopPromise<Void>?,
        writeLast: (EventLoopPromise<Void>?) -> Void
    ) -> Bool {
        let goesOn = connection.endAnswer(at: .now())
        countInFlight()
        setTimer(context)
        guard !goesOn else {
            writeLast(promise)
            return true
        }
        let written = promise ?? context.eventLoop.makePromise(of: Void.self)
        closeOutput(after: written.futureResult, context)
        writeLast(written)
        return false
    }

    /// Closes the connection, behind what the client has not taken yet.
    private func finish(_ context: ChannelHandlerContext) {
        let unwritten = try? context.channel.syncOptions?.getOption(.bufferedWritableBytes)
        guard let unwritten, unwritten > 0 else { return context.close(promise: nil) }
        let written = context.eventLoop.makePromise(of: Void.self)
        closeOutput(after: written.futureResult, context)
        guard let encoder else { return written.succeed() }
        encoder.writeAndFlush(NIOAny(ByteBuffer()), promise: written)
    }

    private func closeOutput(after written: EventLoopFuture<Void>, _ context: ChannelHandlerContext) {
        pipelined.removeAll()
        written.assumeIsolated().whenComplete { _ in
            context.close(mode: .output, promise: nil)
            context.read()
        }
    }
}

// MARK: - Actions

extension EdgeHandler {
    private func perform(_ action: EdgeConnection.Action, _ context: ChannelHandlerContext) {
        switch action {
        case .nothing: break
        case .sendContinue:
            write(.head(HTTPResponse(status: .continue)), context)
            context.flush()
        case .deliver(let request): deliver(request, context)
        case .refuse(let refusal, let request): answer(refusal, to: request, context)
        case .finish: finish(context)
        case .close: context.close(promise: nil)
        }
        countInFlight()
        setTimer(context)
    }

    private func deliver(_ request: IncomingRequest, _ context: ChannelHandlerContext) {
        if let lane = edge.lane, let matter = lane.matter(of: request, over: context.channel) {
            let body = ReservedBody(request.body, request.reservation)
            return proceed(lane.begin(matter, body: body), lane, context)
        }
        routed.put(request.reservation)
        do {
            context.fireChannelRead(wrapInboundOut(.head(try request.header.forRouter())))
        } catch {
            return context.fireErrorCaught(error)
        }
        if let body = request.body { context.fireChannelRead(wrapInboundOut(.body(body))) }
        context.fireChannelRead(wrapInboundOut(.end(nil)))
        context.fireChannelReadComplete()
    }

    /// Nobody calls the work back when the caller leaves: others may wait for what it finds out.
    private func proceed(_ progress: FastLane.Progress, _ lane: FastLane, _ context: ChannelHandlerContext) {
        switch progress {
        case .replied(let reply): send(reply, context)
        case .verifying(let rest):
            var isLater = false
            lane.turns.turns(on: context.eventLoop).take { [self] in
                guard connection.isAnswering else { return }
                proceed(rest(), lane, context)
                if isLater { goOn(context) }
            }
            isLater = true
        case .waiting(let rest):
            let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
            Task(executorPreference: LoopExecutor(context.eventLoop)) {
                let reply = await rest()
                let (handler, context) = bound.value
                handler.send(reply, context)
                handler.goOn(context)
            }
        }
    }

    /// Writes a whole answer in one piece; nothing if the caller is gone or has been told that it took too long.
    private func send(_ reply: Reply, _ context: ChannelHandlerContext) {
        guard let (request, isLast) = connection.beginAnswer(isDraining: edge.lifecycle.stage == .draining),
            let encoder
        else { return }
        edge.metrics?.answered(request, reply.status, at: .now())
        hasAnswered = true
        let octets = reply.octets(requestID: request.header.requestID, isLast: isLast, context.channel.allocator)
        endAnswer(context, nil) { encoder.writeAndFlush(NIOAny(octets), promise: $0) }
        goOnLater(context)
    }

    private func answer(_ refusal: EdgeRefusal, to request: IncomingRequest?, _ context: ChannelHandlerContext) {
        let requestID = (request?.header.requestID ?? RequestID(sent: nil)).text
        let problem = Problem(refusal)
        let body = problem.json(requestID: requestID)
        edge.metrics?.refused(request, refusal, problem.status)
        let took = request.map { Duration(NIODeadline.now() - $0.arrival) } ?? .zero
        edge.log.write(problem.status.code, took: took) {
            RequestLog.Line(problem, to: request, requestID: requestID, took: $0, answerBytes: body.count)
        }
        var head = problem.head(bodyBytes: body.count)
        head.headerFields[.requestID] = requestID
        head.headerFields[.connection] = "close"
        if let date = edge.date.field(at: .now()) { head.headerFields.append(date) }
        write(.head(head), context)
        if !isHead { write(.body(ByteBuffer(bytes: body)), context) }
        let written = context.eventLoop.makePromise(of: Void.self)
        closeOutput(after: written.futureResult, context)
        write(.end(nil), context, written)
        context.flush()
    }
}

extension HTTPServerResponsePart {
    /// A part as the encoder takes it.
    fileprivate init(_ part: HTTPResponsePart) {
        switch part {
        case .head(let head): self = .head(HTTPResponseHead(head))
        case .body(let octets): self = .body(.byteBuffer(octets))
        case .end(let trailers): self = .end(trailers.map(HTTPHeaders.init))
        }
    }
}

extension RequestLog.Line {
    /// The line of a request that never reached the router.
    fileprivate init(
        _ problem: Problem, to request: IncomingRequest?, requestID: String, took: Duration, answerBytes: Int
    ) {
        let context = request.flatMap { TraceContext($0.header) }
        self.init(
            requestID: .sent(requestID), trace: TraceIDs(following: context), method: request?.header.method.rawValue,
            status: problem.status.code, duration: took, answerBytes: answerBytes)
        facts.bodyBytes = request?.bodyBytes
        facts.problem = problem.code
    }
}

// MARK: - Time

extension EdgeHandler {
    /// Makes sure the timer fires no later than the connection's deadline. A timer that fires early is set anew: most
    /// deadlines only move away, so a busy connection sets a timer every few seconds and not for each request.
    private func setTimer(_ context: ChannelHandlerContext) {
        guard let deadline = connection.deadline else { return }
        if let set = timer?.deadline, set <= deadline { return }
        timer?.task.cancel()
        let task = context.eventLoop.assumeIsolated().scheduleTask(deadline: deadline) { self.timerFired(context) }
        timer = (deadline, task)
    }

    private func timerFired(_ context: ChannelHandlerContext) {
        timer = nil
        let action = connection.deadlinePassed(at: .now())
        if case .refuse(.headersLate, _) = action { isHead = decoder?.isHead ?? false }
        perform(action, context)
    }
}
