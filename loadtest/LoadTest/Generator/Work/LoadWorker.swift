// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import NIOPosix

/// Sends one worker's share of the load on one event loop, with its own connections, histograms and random numbers. All
/// its code runs on that loop.
final class LoadWorker {
    let plan: LoadPlan
    let number: Int
    var isSecure: Bool { tls != nil }
    private let loop: any EventLoop
    private let address: SocketAddress
    private let tls: TLSClient?
    private let events: AsyncStream<WorkerEvent>.Continuation
    private var traffic: any LoadTraffic
    private var timetable: Timetable
    private var recorder: Recorder

    /// The beginning of the recorded part, in nanoseconds of `NIODeadline`; warm-up comes before.
    private var start: Int64 = .max
    /// The time of the first request, from which seconds are counted.
    private var origin: Int64 = .max
    private var nextDue: Int64?
    /// The end of the recorded part, where no timetable ends it.
    private var end: Int64 = .max
    private var taken = 0
    private var timeAtStart = ThreadTime()
    private var timerIsSet = false
    private var state = State.connecting

    private var connections: [LoadConnection] = []
    private var free = CircularBuffer<LoadConnection>()
    private var dirty: [LoadConnection] = []
    /// The due times of requests that wait for a connection. Requests are made when they are sent: made when due,
    /// requests beyond saturation would fill memory and leave no time to read answers.
    private var waiting = CircularBuffer<Int64>()
    /// Attempts whose end is not known, until all have been tried once.
    private var untried = 0
    private var failedConnects = 0
    private var failure: LoadRunError?

    private enum State { case connecting, working, finished }

    init(
        _ plan: LoadPlan, number: Int, traffic: any LoadTraffic, address: SocketAddress, _ tls: TLSClient?,
        loop: any EventLoop, events: AsyncStream<WorkerEvent>.Continuation
    ) {
        self.plan = plan
        self.number = number
        self.traffic = traffic
        self.address = address
        self.tls = tls
        self.loop = loop
        self.events = events
        timetable = Timetable(plan, worker: number)
        recorder = Recorder(limits: plan.limits)
    }
}

enum WorkerEvent: Sendable {
    /// It has tried all its connections, and has some, or none for this reason.
    case connected(LoadRunError?)
    case second(_ worker: Int, SecondSlice)
    case finished(_ worker: Int, LoadMeasurements)
    /// The run is to end: at once, or with the last answer.
    case stop, drain
}

// MARK: - From the beginning to the end

extension LoadWorker {
    private static var now: Int64 { Int64(NIODeadline.now().uptimeNanoseconds) }

    private var connectionShare: Int { plan.share(of: plan.connections, worker: number) }

    /// Makes all connections; nothing is sent before `begin`.
    func connect() {
        untried = connectionShare
        for _ in 0..<connectionShare { openConnection() }
    }

    /// Sends from `origin` on, when the first request is due.
    func begin(at origin: Int64) {
        guard state == .connecting else { return }
        self.origin = origin
        start = origin + Int64(plan.warmupSeconds * 1e9)
        if plan.isClosed {
            end = start + Int64(plan.closedSeconds * 1e9)
        } else {
            nextDue = timetable.next().map { start + $0 }
        }
        at(origin) {
            guard self.state == .connecting else { return }
            self.state = .working
            self.tick()
        }
        at(start) { self.timeAtStart = .current() }
    }

    private func at(_ moment: Int64, _ work: @escaping () -> Void) {
        loop.assumeIsolated().scheduleTask(deadline: .uptimeNanoseconds(UInt64(moment)), work)
    }

    /// Takes up no more requests, and waits for the answers to the requests under way.
    func drain() {
        (nextDue, end) = (nil, .min)
        state == .connecting ? finish() : finishIfDone()
    }

    /// Sends nothing more; what is under way stays unanswered.
    func stop() {
        guard state != .finished else { return }
        (nextDue, end) = (nil, .min)
        let due = connections.flatMap(\.underWay).map(\.intended) + waiting
        recorder.abandoned(due.count { $0 >= start })
        waiting.removeAll()
        finish()
    }

    /// Ten times a second: fails what waits too long, and ends seconds in which nothing happens.
    private func tick() {
        guard state == .working else { return }
        let now = Self.now
        turn(at: now)
        expire(before: now - plan.timeout.nanoseconds)
        work()
        loop.assumeIsolated().scheduleTask(in: .milliseconds(tickMilliseconds)) { self.tick() }
    }

    private var tickMilliseconds: Int64 { max(1, min(100, plan.timeout.nanoseconds / 20_000_000)) }

    private func turn(at now: Int64) {
        guard now >= origin else { return }
        if let slice = recorder.turn(to: Int((now - origin) / 1_000_000_000)) { events.yield(.second(number, slice)) }
    }

    private func finish() {
        state = .finished
        let now = Self.now
        turn(at: now)
        let time = ThreadTime.current() - timeAtStart
        if let last = recorder.finish(time, seconds: Double(max(0, now - start)) / 1e9) {
            events.yield(.second(number, last))
        }
        events.yield(.finished(number, recorder.measurements))
        for connection in connections { connection.end(.connectionEnded) }
    }

    private func finishIfDone() {
        guard state == .working, waiting.isEmpty, !mayTakeMore else { return }
        if connections.allSatisfy(\.underWay.isEmpty) { finish() }
    }

    private var mayTakeMore: Bool {
        guard plan.isClosed else { return nextDue != nil }
        return Self.now < end && taken < plan.share(of: plan.maximumRequests ?? .max, worker: number)
    }
}

// MARK: - Sending

extension LoadWorker {
    /// Sends everything that is due and has a connection, and sleeps until the next is due.
    func work() {
        guard state == .working else { return }
        if plan.isClosed { takeEagerly() } else { takeDue() }
        for connection in dirty { connection.flush() }
        dirty.removeAll(keepingCapacity: true)
        finishIfDone()
    }

    private func takeDue() {
        sendWaiting()
        var now = Self.now, taken = 0
        // Answers are read in between, however far behind the schedule this is.
        while let due = nextDue, due <= now, taken < plan.limits.maximumBatch {
            take(due, now)
            taken += 1
            nextDue = timetable.next().map { start + $0 }
            // Requests that are sent late because other requests were sent before them are late.
            now = Self.now
        }
        if let nextDue { sleep(until: max(nextDue, now + plan.limits.shortestSleep.nanoseconds)) }
    }

    private func role(_ intended: Int64) -> Recorder.Role { intended >= start ? .measured : .warmup }

    private func take(_ due: Int64, _ now: Int64) {
        recorder.took(role(due), lag: now - due)
        if let connection = nextFree() { return send(due, over: connection) }
        guard waiting.count < plan.limits.maximumWaiting else { return fail(.queueFull, due: due, sent: nil) }
        waiting.append(due)
    }

    private func sendWaiting() {
        while !waiting.isEmpty, let connection = nextFree() {
            send(waiting.removeFirst(), over: connection)
        }
    }

    private func takeEagerly() {
        while mayTakeMore, let connection = nextFree() {
            let now = Self.now
            if now >= start { taken += 1 }
            recorder.took(role(now), lag: 0)
            send(now, over: connection)
        }
    }

    private func send(_ intended: Int64, over connection: LoadConnection) {
        let request = traffic.next()
        recorder.sent(role(intended), bytes: request.readableBytes)
        // Looked at again: the making of a request is the generator's time, and no part of the service.
        connection.send(request, SentRequest(intended: intended, sent: Self.now))
        if !connection.isDirty {
            connection.isDirty = true
            dirty.append(connection)
        }
        freed(connection)
    }

    private func nextFree() -> LoadConnection? {
        while let connection = free.popFirst() {
            connection.isListed = false
            if connection.isFree { return connection }
        }
        return nil
    }

    private func sleep(until due: Int64) {
        guard !timerIsSet else { return }
        timerIsSet = true
        let deadline = NIODeadline.uptimeNanoseconds(UInt64(due))
        _ = try? loop.assumeIsolated().scheduleCallback(at: deadline, handler: self)
    }
}

extension LoadWorker: NIOScheduledCallbackHandler {
    func handleScheduledCallback(eventLoop: some EventLoop) {
        timerIsSet = false
        work()
    }
}

// MARK: - What connections report

extension LoadWorker {
    func opened(_ connection: LoadConnection) {
        guard state != .finished else { return connection.end(.connectionEnded) }
        failedConnects = 0
        connections.append(connection)
        freed(connection)
        tried()
        work()
    }

    /// Lists a connection that may take another request.
    func freed(_ connection: LoadConnection) {
        guard connection.isFree, !connection.isListed else { return }
        connection.isListed = true
        free.append(connection)
    }

    func received(_ bytes: Int) {
        recorder.received(role(Self.now), bytes: bytes)
    }

    func answered(_ answer: LoadAnswer, _ request: SentRequest, _ reader: borrowing AnswerReader) {
        guard state == .working else { return }
        let now = Self.now
        turn(at: now)
        if let completion = plan.completion {
            let latency = Duration.nanoseconds(now - request.intended)
            completion(Completion(latency: latency, status: answer.status, opening: reader.opening))
        }
        recorder.answered(role(request.intended), answer, response: now - request.intended, service: now - request.sent)
    }

    func failed(_ failure: RequestFailure, _ request: SentRequest) {
        guard state == .working else { return }
        fail(failure, due: request.intended, sent: request.sent)
    }

    private func fail(_ failure: RequestFailure, due: Int64, sent: Int64?) {
        let now = Self.now
        turn(at: now)
        plan.completion?(Completion(latency: .nanoseconds(now - due), status: nil, opening: []))
        recorder.failed(role(due), failure, after: now - due, service: sent.map { now - $0 })
    }

    func closed(_ connection: LoadConnection) {
        connections.removeAll { $0 === connection }
        guard state != .finished else { return }
        // A server that closes without an answer would get connections without a pause.
        connection.hasAnswered ? openConnection() : openLater()
    }

    private func openConnection() {
        let bootstrap = ClientBootstrap(group: loop)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            // Of a second read at once nothing is to be expected but "would block".
            .channelOption(.maxMessagesPerRead, value: 1)
            .channelOption(.recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: 16 << 10))
            .connectTimeout(TimeAmount(plan.limits.connectTimeout))
        let worker = NIOLoopBound(self, eventLoop: loop)
        bootstrap
            .channelInitializer { [tls] channel in
                channel.eventLoop.makeCompletedFuture {
                    try tls?.add(to: channel)
                    try channel.pipeline.syncOperations.addHandler(LoadConnection(worker: worker.value))
                }
            }
            .connect(to: address)
            .whenFailure { worker.value.connectFailed($0) }
    }

    private func tried() {
        guard untried > 0 else { return }
        untried -= 1
        guard untried == 0 else { return }
        events.yield(.connected(connections.isEmpty ? failure : nil))
    }

    func connectFailed(_ error: any Error) {
        guard state != .finished else { return }
        failure = LoadRunError(error, connectingTo: plan.target)
        tried()
        openLater()
    }

    private func openLater() {
        failedConnects += 1
        let pause = plan.limits.firstReconnectPause * (1 << min(failedConnects / max(1, connectionShare), 10))
        loop.assumeIsolated().scheduleTask(in: TimeAmount(min(pause, plan.limits.longestReconnectPause))) {
            guard self.state != .finished else { return }
            self.openConnection()
        }
    }

    /// Fails what waits since before a time: for an answer since it was sent, for a connection since it was due.
    private func expire(before moment: Int64) {
        for connection in connections {
            if let oldest = connection.underWay.first, oldest.sent < moment { connection.end(.timeout) }
        }
        while let oldest = waiting.first, oldest < moment {
            waiting.removeFirst()
            fail(.noConnection, due: oldest, sent: nil)
        }
    }
}
