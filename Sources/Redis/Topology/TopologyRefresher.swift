// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import Synchronization

/// Refreshes a client's knowledge of the masters when `TopologyRefreshRule` requires it.
final class TopologyRefresher: Sendable {
    private struct State {
        var rule: TopologyRefreshRule
        /// The refresh, which returns true if everything is in order. Nil before the start and after the end.
        var look: (@Sendable () async -> Bool)?
    }

    private let state: Mutex<State>
    private let eventLoop: any EventLoop

    init(_ rule: TopologyRefreshRule, on eventLoop: any EventLoop) {
        state = Mutex(State(rule: rule))
        self.eventLoop = eventLoop
    }

    /// Refreshes at once, and then whenever there is a reason.
    func start(look: @escaping @Sendable () async -> Bool) {
        state.withLock { $0.look = look }
        want()
    }

    func want() { step { $0.want(at: .now) } }

    /// Ends refreshing; a refresh in progress runs to its end.
    func stop() { state.withLock { $0.look = nil } }

    private func step(_ change: (inout TopologyRefreshRule) -> TopologyRefreshRule.Step) {
        let (step, look) = state.withLock { state in
            (state.look == nil ? .nothing : change(&state.rule), state.look)
        }
        switch step {
        case .nothing: break
        case .look: Task { await begin(look) }
        case .wait(let time):
            eventLoop.scheduleTask(in: TimeAmount(time - .now)) { [weak self] in
                self?.step { $0.timerFired(at: .now) }
            }
        }
    }

    private func begin(_ look: (@Sendable () async -> Bool)?) async {
        let isInOrder = await look?() ?? true
        step { $0.ended(isInOrder: isInOrder, at: .now) }
    }
}
