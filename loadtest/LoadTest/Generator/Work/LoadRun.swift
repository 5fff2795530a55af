// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import NIOPosix

/// Why a run did not begin.
enum LoadRunError: Error, Hashable, CustomStringConvertible {
    /// The host has no address.
    case unknownHost(String)
    /// Nobody listens there.
    case notConnected(String)
    /// The system does not let this process have so many (`ulimit -n`).
    case tooManyConnections(most: Int)

    var description: String {
        switch self {
        case .unknownHost(let host): "'\(host)' has no address."
        case .notConnected(let authority): "Nobody listens at \(authority)."
        case .tooManyConnections(let most):
            "The system allows \(most.grouped) connections: use fewer --connections, or raise ulimit -n."
        }
    }
}

/// What is told of a run while it goes on.
enum LoadRunEvent: Sendable {
    /// All connections that can be made stand; the first request is due at this moment.
    case began(ContinuousClock.Instant)
    /// All workers have ended this second.
    case second(SecondSlice)
}

/// Carries out a plan, once.
struct LoadRun: Sendable {
    let plan: LoadPlan
    /// What each worker sends.
    private let traffic: @Sendable (_ worker: Int) -> any LoadTraffic
    private let events: AsyncStream<WorkerEvent>
    private let continuation: AsyncStream<WorkerEvent>.Continuation

    /// - Parameter traffic: what the worker with this number sends.
    init(plan: LoadPlan, traffic: @escaping @Sendable (_ worker: Int) -> any LoadTraffic) {
        self.plan = plan
        self.traffic = traffic
        (events, continuation) = AsyncStream.makeStream()
    }

    /// Ends the run at once; what is under way stays unanswered, and what was recorded is returned.
    func stop() {
        continuation.yield(.stop)
    }

    /// Runs from the first connection to the last answer.
    func run(_ tell: (LoadRunEvent) -> Void = { _ in }) async throws -> LoadMeasurements {
        try OpenFiles.makeRoom(for: plan.connections)
        let group = MultiThreadedEventLoopGroup(numberOfThreads: plan.workers)
        let result: Result<LoadMeasurements, any Error>
        do {
            if plan.givesWay { try await group.giveWay() }
            result = .success(try await run(on: group, tell))
        } catch {
            result = .failure(error)
        }
        try? await group.shutdownGracefully()
        return try result.get()
    }

    private func run(
        on group: MultiThreadedEventLoopGroup, _ tell: (LoadRunEvent) -> Void
    ) async throws -> LoadMeasurements {
        var crew = LoadCrew(plan: plan)
        try await crew.gather(on: group, address: address(), traffic, continuation)
        defer { crew.stop() }
        for await event in events {
            switch event {
            case .connected(let isConnected): try crew.connected(isConnected, tell)
            case .second(let worker, let slice): crew.second(slice, of: worker, tell)
            case .finished(let worker, let measurements): crew.finished(measurements, worker, tell)
            case .stop: crew.stop()
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

extension MultiThreadedEventLoopGroup {
    /// Has each thread run only when no other wants its core.
    fileprivate func giveWay() async throws {
        for loop in makeIterator() { try await loop.submit(ThreadPriority.giveWay).get() }
    }
}
