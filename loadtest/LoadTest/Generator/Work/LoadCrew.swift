// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import NIOPosix

/// All workers of a run, and what they have said.
struct LoadCrew {
    let plan: LoadPlan
    private(set) var measurements = LoadMeasurements()
    private var workers: [NIOLoopBound<LoadWorker>] = []
    private var loops: [any EventLoop] = []
    private var connected = 0
    private var anyConnected = false
    /// The next second of each worker.
    private var nextSeconds: [Int]
    /// Seconds that not all workers have ended.
    private var slices: [Int: SecondSlice] = [:]
    private var toldSeconds = 0
    private var finished = 0

    init(plan: LoadPlan) {
        self.plan = plan
        nextSeconds = Array(repeating: 0, count: plan.workers)
    }

    /// Whether all workers have finished.
    var isDone: Bool { finished == plan.workers }

    /// Gives each worker a loop, and lets it connect.
    mutating func gather(
        on group: MultiThreadedEventLoopGroup, address: SocketAddress,
        _ traffic: @escaping @Sendable (Int) -> any LoadTraffic, _ events: AsyncStream<WorkerEvent>.Continuation
    ) async throws {
        loops = Array(group.makeIterator())
        for (number, loop) in loops.enumerated() {
            let plan = plan
            let worker = try await loop.submit {
                let worker = LoadWorker(
                    plan, number: number, traffic: traffic(number), address: address, loop: loop, events: events)
                worker.connect()
                return NIOLoopBound(worker, eventLoop: loop)
            }.get()
            workers.append(worker)
        }
    }

    /// A worker has connected, or could not. When all have tried, all begin.
    mutating func connected(_ isConnected: Bool, _ tell: (LoadRunEvent) -> Void) throws(LoadRunError) {
        connected += 1
        anyConnected = anyConnected || isConnected
        guard connected == plan.workers else { return }
        guard anyConnected else { throw .notConnected(plan.target.authority) }
        let origin = Int64(NIODeadline.now().uptimeNanoseconds) + Self.runUp.nanoseconds
        tell(.began(.now + Self.runUp))
        each { $0.begin(at: origin) }
    }

    /// Long enough for all loops to hear of it.
    private static let runUp = Duration.milliseconds(5)

    /// Tells of each second that all workers have ended, in their order; of those without any event, too.
    mutating func second(_ slice: SecondSlice, of worker: Int, _ tell: (LoadRunEvent) -> Void) {
        slices[slice.second, default: SecondSlice(second: slice.second)].add(slice)
        nextSeconds[worker] = slice.second + 1
        tellOfEndedSeconds(tell)
    }

    mutating func finished(_ measurements: LoadMeasurements, _ worker: Int, _ tell: (LoadRunEvent) -> Void) {
        self.measurements.add(measurements)
        finished += 1
        // Who has finished keeps nobody waiting.
        nextSeconds[worker] = .max
        tellOfEndedSeconds(tell)
    }

    /// Stops all workers that have not finished.
    func stop() {
        each { $0.stop() }
    }

    private mutating func tellOfEndedSeconds(_ tell: (LoadRunEvent) -> Void) {
        let last = slices.keys.max() ?? -1
        let end = min(nextSeconds.min() ?? 0, last + 1)
        while toldSeconds < end {
            tell(.second(slices.removeValue(forKey: toldSeconds) ?? SecondSlice(second: toldSeconds)))
            toldSeconds += 1
        }
    }

    private func each(_ body: @escaping @Sendable (LoadWorker) -> Void) {
        for (worker, loop) in zip(workers, loops) { loop.execute { body(worker.value) } }
    }
}
