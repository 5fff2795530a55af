// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import NIOPosix

/// Lets the verifications of one event loop take turns with everything else it does.
///
/// A verification computes for a good while; a known answer takes no time to speak of. Were each made as it arrives, a
/// flood of new receipts would delay every request whose answer is known. So after a turn's worth of verifications the
/// event loop first reads what has arrived meanwhile, and answers what it can.
///
/// It belongs to one event loop, and is used on it only.
final class VerificationScheduler: Sendable {
    /// The times of a turn and of the pause behind it.
    enum Limits {
        /// Half a dozen receipts of an ordinary size: long enough that looking at the sockets in between costs little.
        static let turn = TimeAmount.microseconds(500)
        /// The event loop does all that is due before it looks at its sockets again, so the next turn must not be due yet.
        static let pause = TimeAmount.microseconds(20)
    }

    private struct State {
        /// At most one verification for each connection.
        var waiting = CircularBuffer<() -> Void>()
        var spent = TimeAmount.zero
        var isPausing = false
    }

    private let loop: any EventLoop
    private let now: @Sendable () -> NIODeadline
    private let state: NIOLoopBoundBox<State>

    /// - Parameter now: the time, which tests set.
    init(on loop: any EventLoop, now: @escaping @Sendable () -> NIODeadline = { .now() }) {
        self.loop = loop
        self.now = now
        state = NIOLoopBoundBox(State(), eventLoop: loop)
    }

    /// Runs a verification, at once or when it is its turn.
    func run(_ verification: @escaping () -> Void) {
        guard !state.value.isPausing, state.value.waiting.isEmpty else {
            return state.value.waiting.append(verification)
        }
        make(verification)
    }

    private func make(_ verification: () -> Void) {
        let start = now()
        verification()
        state.value.spent = state.value.spent + (now() - start)
        if state.value.spent >= Limits.turn { pause() }
    }

    private func pause() {
        guard !state.value.isPausing else { return }
        state.value.isPausing = true
        loop.scheduleTask(in: Limits.pause) { self.goOn() }
    }

    private func goOn() {
        (state.value.isPausing, state.value.spent) = (false, .zero)
        while !state.value.isPausing, let verification = state.value.waiting.popFirst() { make(verification) }
    }
}

extension VerificationScheduler {
    /// The schedulers of all event loops.
    struct PerEventLoop: Sendable {
        private let ofThisThread = ThreadSpecificVariable<VerificationScheduler>()

        /// Returns the scheduler of an event loop, on its own thread.
        func scheduler(of loop: any EventLoop) -> VerificationScheduler {
            if let scheduler = ofThisThread.currentValue { return scheduler }
            let scheduler = VerificationScheduler(on: loop)
            ofThisThread.currentValue = scheduler
            return scheduler
        }
    }
}
