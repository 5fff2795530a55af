// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import Synchronization

/// Refreshes a client's knowledge of the masters when `TopologyRefreshRule` requires it.
final class TopologyRefresher: Sendable {
    private struct State {
        var rule: TopologyRefreshRule
        /// The refresh, which returns true if everything is in order. Nil before the start and after the end.
        var refresh: (@Sendable () async -> Bool)?
    }

    private let state: Mutex<State>
    private let eventLoop: any EventLoop

    init(_ rule: TopologyRefreshRule, on eventLoop: any EventLoop) {
        state = Mutex(State(rule: rule))
        self.eventLoop = eventLoop
    }

    /// Refreshes at once, and then whenever there is a reason.
    func start(refresh: @escaping @Sendable () async -> Bool) {
        state.withLock { $0.refresh = refresh }
        request()
    }

    func request() { step { $0.request(at: .now) } }

    /// Ends refreshing; a refresh in progress runs to its end.
    func stop() { state.withLock { $0.refresh = nil } }

    private func step(_ change: (inout TopologyRefreshRule) -> TopologyRefreshRule.Step) {
        let (step, refresh) = state.withLock { state in
            (state.refresh == nil ? .nothing : change(&state.rule), state.refresh)
        }
        switch step {
        case .nothing: break
        case .refresh: Task { await begin(refresh) }
        case .wait(let time):
            eventLoop.scheduleTask(in: TimeAmount(time - .now)) { [weak self] in
                self?.step { $0.timerFired(at: .now) }
            }
        }
    }

    private func begin(_ refresh: (@Sendable () async -> Bool)?) async {
        let isInOrder = await refresh?() ?? true
        step { $0.ended(isInOrder: isInOrder, at: .now) }
    }
}

extension RedisNode {
    /// - Parameter observer: nil for a node that is only queried about other nodes.
    convenience init(
        _ configuration: RedisNodeConfiguration, eventLoops: any EventLoopGroup,
        refreshing refresher: TopologyRefresher, observer: (any RedisObserver)?
    ) {
        self.init(
            configuration, eventLoops: eventLoops, observer: NodeObserver(observer: observer, refresher: refresher))
    }
}

/// Forwards a node's events, and requests a refresh if the masters may have changed.
private struct NodeObserver: RedisObserver {
    let observer: (any RedisObserver)?
    let refresher: TopologyRefresher

    func observe(_ event: RedisEvent) {
        observer?.observe(event)
        switch event {
        case .connected(.commands), .disconnected(.commands, _), .published: refresher.request()
        default: break
        }
    }
}

/// The schedule of refreshes: one at a time, at intervals or on demand, with at least `pace` between their starts.
struct TopologyRefreshRule {
    enum Step: Hashable {
        case nothing
        case refresh
        /// Call `timerFired` then.
        case wait(until: ContinuousClock.Instant)
    }

    let pace: Duration
    /// The time from the end of a refresh that found everything in order to the next.
    let interval: Duration
    /// The time from the end of any other refresh to the next.
    let retryInterval: Duration

    private(set) var earliest: ContinuousClock.Instant?
    private(set) var next: ContinuousClock.Instant?
    private(set) var isRefreshing = false
    private(set) var isRequestedAgain = false

    mutating func request(at now: ContinuousClock.Instant) -> Step {
        guard !isRefreshing else {
            isRequestedAgain = true
            return .nothing
        }
        let requested = max(now, earliest ?? now)
        if requested <= now { return begin(at: now) }
        if let next, next <= requested { return .nothing }
        return wait(until: requested)
    }

    /// Handles the end of a `wait`. Outdated timers have no effect.
    mutating func timerFired(at now: ContinuousClock.Instant) -> Step {
        guard !isRefreshing, let next, next <= now else { return .nothing }
        return begin(at: now)
    }

    /// - Parameter isInOrder: true if no retry is needed.
    mutating func ended(isInOrder: Bool, at now: ContinuousClock.Instant) -> Step {
        let pause = isRequestedAgain ? .zero : isInOrder ? interval : retryInterval
        (isRefreshing, isRequestedAgain) = (false, false)
        return wait(until: max(now + pause, earliest ?? now))
    }

    private mutating func begin(at now: ContinuousClock.Instant) -> Step {
        (isRefreshing, next, earliest) = (true, nil, now + pace)
        return .refresh
    }

    private mutating func wait(until time: ContinuousClock.Instant) -> Step {
        next = time
        return .wait(until: time)
    }
}
