// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
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

/// Forwards a node's events, and requests a refresh if the masters may have changed.
struct NodeObserver: RedisObserver {
    /// Receives all events; nil for nodes that are only asked about others.
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
