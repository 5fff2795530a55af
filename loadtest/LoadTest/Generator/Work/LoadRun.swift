// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import NIOCore
internal import NIOPosix

enum LoadRunError: Error, Hashable, CustomStringConvertible {
    case unknownHost(String)
    case notConnected(String)
    /// The TLS handshake failed, in the library's word for it.
    case handshake(String, reason: String)
    case noCertificates(String)
    /// The system does not let this process have so many (`ulimit -n`).
    case tooManyConnections(most: Int)

    var description: String {
        switch self {
        case .unknownHost(let host): "'\(host)' has no address."
        case .notConnected(let authority): "No program accepts connections at \(authority)."
        case .handshake(let authority, let reason):
            "The TLS handshake with \(authority) failed: \(reason). Name the certificates to trust with --ca-file, or "
                + "trust any with --insecure."
        case .noCertificates(let source): "No certificates can be read from \(source)."
        case .tooManyConnections(let most):
            "The system allows \(most.grouped) connections: use fewer --connections, or raise ulimit -n."
        }
    }
}

enum LoadRunEvent: Sendable {
    /// All connections that can be made stand; the first request is due at this moment.
    case began(ContinuousClock.Instant)
    case second(SecondSlice)
}

/// Carries out a plan, once.
struct LoadRun: Sendable {
    let plan: LoadPlan
    private let traffic: @Sendable (_ worker: Int) -> any LoadTraffic
    private let events: AsyncStream<WorkerEvent>
    private let continuation: AsyncStream<WorkerEvent>.Continuation

    init(plan: LoadPlan, traffic: @escaping @Sendable (_ worker: Int) -> any LoadTraffic) {
        self.plan = plan
        self.traffic = traffic
        (events, continuation) = AsyncStream.makeStream()
    }

    /// Ends the run at once; what is under way stays unanswered, and what was recorded is returned.
    func stop() {
        continuation.yield(.stop)
    }

    /// Ends the run when all requests that were due are answered.
    func drain() {
        continuation.yield(.drain)
    }

    func run(_ report: (LoadRunEvent) -> Void = { _ in }) async throws -> LoadMeasurements {
        try OpenFiles.makeRoom(for: plan.connections)
        return try await MultiThreadedEventLoopGroup.withEventLoopGroup(numberOfThreads: plan.workers) { group in
            if plan.givesWay { try await group.giveWay() }
            return try await run(on: group, report)
        }
    }

    private func run(
        on group: MultiThreadedEventLoopGroup, _ report: (LoadRunEvent) -> Void
    ) async throws -> LoadMeasurements {
        var crew = LoadCrew(plan: plan)
        let tls = try TLSClient(plan.target, plan.trust)
        try await crew.gather(on: group, address: address(), tls, traffic, continuation)
        defer { crew.stop() }
        for await event in events {
            switch event {
            case .connected(let failure): try crew.connected(failure, report)
            case .second(let worker, let slice): crew.second(slice, of: worker, report)
            case .finished(let worker, let measurements): crew.finished(measurements, worker, report)
            case .stop: crew.stop()
            case .drain: crew.drain()
            }
            if crew.isDone { break }
        }
        return crew.measurements
    }

    private func address() throws(LoadRunError) -> SocketAddress {
        do {
            return try SocketAddress.makeAddressResolvingHost(plan.target.host, port: plan.target.port)
        } catch {
            throw .unknownHost(plan.target.host)
        }
    }
}

/// An endless sequence of requests of one worker, whole as they go over the wire. The same seed and worker give the
/// same requests.
protocol LoadTraffic: Sendable {
    mutating func next() -> ByteBuffer
}

struct InTurn<Element: Sendable>: Sendable {
    private let elements: [Element]
    private let first: Int
    private var position: Int
    private let step: Int

    /// - Parameter taken: the number of elements that earlier runs took.
    init(_ elements: [Element], worker: Int = 0, of workers: Int = 1, after taken: Int = 0) {
        (self.elements, step) = (elements, workers)
        first = taken + worker
        position = first
    }

    /// Takes the next; there must be an element.
    mutating func next() -> Element {
        defer { position += step }
        return elements[position % elements.count]
    }

    /// Returns an element that this worker took, by a number from 0 to below 1; nil if it took none.
    func taken(at fraction: Double) -> Element? {
        let count = (position - first) / step
        return count > 0 ? elements[(first + step * Int(fraction * Double(count))) % elements.count] : nil
    }
}

extension InTurn: LoadTraffic where Element == ByteBuffer {}

struct LoadCrew {
    let plan: LoadPlan
    private(set) var measurements = LoadMeasurements()
    private var workers: [NIOLoopBound<LoadWorker>] = []
    private var loops: [any EventLoop] = []
    private var tried = 0
    private var anyConnected = false
    private var failure: LoadRunError?
    private var nextSeconds: [Int]
    /// Seconds that not all workers have ended.
    private var slices: [Int: SecondSlice] = [:]
    private var reportedSeconds = 0
    private var finished = 0

    init(plan: LoadPlan) {
        self.plan = plan
        nextSeconds = Array(repeating: 0, count: plan.workers)
    }

    var isDone: Bool { finished == plan.workers }

    mutating func gather(
        on group: MultiThreadedEventLoopGroup, address: SocketAddress, _ tls: TLSClient?,
        _ traffic: @escaping @Sendable (Int) -> any LoadTraffic, _ events: AsyncStream<WorkerEvent>.Continuation
    ) async throws {
        loops = Array(group.makeIterator())
        for (number, loop) in loops.enumerated() {
            let plan = plan
            let worker = try await loop.submit {
                let worker = LoadWorker(
                    plan, number: number, traffic: traffic(number), address: address, tls, loop: loop,
                    events: events)
                worker.connect()
                return NIOLoopBound(worker, eventLoop: loop)
            }.get()
            workers.append(worker)
        }
    }

    /// A worker has connected, or could not. When all have tried, all begin.
    mutating func connected(_ failure: LoadRunError?, _ report: (LoadRunEvent) -> Void) throws(LoadRunError) {
        tried += 1
        if let failure { self.failure = failure } else { anyConnected = true }
        guard tried == plan.workers else { return }
        guard anyConnected else { throw failure ?? .notConnected(plan.target.authority) }
        let origin = Int64(NIODeadline.now().uptimeNanoseconds) + Self.runUp.nanoseconds
        report(.began(.now + Self.runUp))
        each { $0.begin(at: origin) }
    }

    /// Long enough for all loops to be told.
    private static let runUp = Duration.milliseconds(5)

    /// Reports each second that all workers have ended, in order, also seconds without any event.
    mutating func second(_ slice: SecondSlice, of worker: Int, _ report: (LoadRunEvent) -> Void) {
        slices[slice.second, default: SecondSlice(second: slice.second)].add(slice)
        nextSeconds[worker] = slice.second + 1
        reportEndedSeconds(report)
    }

    mutating func finished(_ measurements: LoadMeasurements, _ worker: Int, _ report: (LoadRunEvent) -> Void) {
        self.measurements.add(measurements)
        finished += 1
        // A worker that has finished holds no second up.
        nextSeconds[worker] = .max
        reportEndedSeconds(report)
    }

    func drain() {
        each { $0.drain() }
    }

    func stop() {
        each { $0.stop() }
    }

    private mutating func reportEndedSeconds(_ report: (LoadRunEvent) -> Void) {
        let last = slices.keys.max() ?? -1
        let end = min(nextSeconds.min() ?? 0, last + 1)
        while reportedSeconds < end {
            report(.second(slices.removeValue(forKey: reportedSeconds) ?? SecondSlice(second: reportedSeconds)))
            reportedSeconds += 1
        }
    }

    private func each(_ body: @escaping @Sendable (LoadWorker) -> Void) {
        for (worker, loop) in zip(workers, loops) { loop.execute { body(worker.value) } }
    }
}

/// The processor time of the calling thread, in seconds.
struct ThreadTime: Hashable, Sendable {
    var running = 0.0
    /// Time in which it was ready to run while other threads had the cores.
    var waiting = 0.0

    static func current() -> ThreadTime {
        if let time = ThreadTime(schedstat: KernelFile("/proc/thread-self/schedstat").text) { return time }
        var time = timespec()
        unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return ThreadTime(running: Double(time.tv_sec) + Double(time.tv_nsec) / 1e9)
    }

    static func - (left: ThreadTime, right: ThreadTime) -> ThreadTime {
        ThreadTime(running: max(0, left.running - right.running), waiting: max(0, left.waiting - right.waiting))
    }
}

extension ThreadTime {
    /// Reads the kernel's text: nanoseconds running, nanoseconds waiting, time slices.
    init?(schedstat text: String) {
        let numbers = text.split(whereSeparator: \.isWhitespace).map { UInt64($0) }
        guard numbers.count == 3, let running = numbers[0], let waiting = numbers[1] else { return nil }
        self.init(running: Double(running) / 1e9, waiting: Double(waiting) / 1e9)
    }
}

extension MultiThreadedEventLoopGroup {
    /// Lets each thread run only when no other wants its core, which any thread may (sched(7), SCHED_IDLE).
    func giveWay() async throws {
        let idle: CInt = 5
        for loop in makeIterator() {
            try await loop.submit {
                var parameters = sched_param()
                unsafe sched_setscheduler(0, idle, &parameters)
            }.get()
        }
    }
}

/// The number of files that this process may have open; each connection is a file.
enum OpenFiles {
    /// Raises the limit as far as the system allows; throws unless so many connections and some more fit.
    static func makeRoom(for connections: Int) throws(LoadRunError) {
        var limit = rlimit()
        guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
        limit.rlim_cur = limit.rlim_max
        _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        guard connections + others <= Int(clamping: limit.rlim_max) else {
            throw .tooManyConnections(most: max(0, Int(clamping: limit.rlim_max) - others))
        }
    }

    /// Files of event loops, standard streams and metrics.
    private static let others = 100
}
