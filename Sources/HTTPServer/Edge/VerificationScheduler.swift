// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import NIOPosix

/// The scheduler that shares one event loop between verifications and all its other work. It is used on that loop only.
///
/// A verification computes for a while; a cached answer takes almost no time. If each verification ran on arrival, a
/// flood of new receipts would delay every request with a cached answer. So after each time slice of verifications the
/// event loop first reads new input and answers what it can.
final class VerificationScheduler: Sendable {
    enum Limits {
        /// The time slice: half a dozen receipts of ordinary size, so that polling the sockets in between costs little.
        static let timeSlice = TimeAmount.microseconds(500)
        /// The pause after a slice. The event loop runs everything that is due before it polls its sockets again, so
        /// the next slice must not be due yet.
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

    /// - Parameter now: the clock, which tests replace.
    init(on loop: any EventLoop, now: @escaping @Sendable () -> NIODeadline = { .now() }) {
        self.loop = loop
        self.now = now
        state = NIOLoopBoundBox(State(), eventLoop: loop)
    }

    /// Runs a verification, at once or in a later time slice.
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
        if state.value.spent >= Limits.timeSlice { pause() }
    }

    private func pause() {
        guard !state.value.isPausing else { return }
        state.value.isPausing = true
        loop.scheduleTask(in: Limits.pause) { self.resume() }
    }

    private func resume() {
        (state.value.isPausing, state.value.spent) = (false, .zero)
        while !state.value.isPausing, let verification = state.value.waiting.popFirst() { make(verification) }
    }

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

/// A task executor that runs on one event loop. Most results that a request waits for arrive there: the loop has its
/// own connection to Redis, and the client's connection. On any other thread each step of the task would wake a thread.
final class LoopExecutor: TaskExecutor {
    private let loop: any EventLoop

    init(_ loop: any EventLoop) { self.loop = loop }

    func enqueue(_ job: consuming ExecutorJob) {
        // SAFETY: a job must be run exactly once; the loop does so, and the task keeps this executor meanwhile.
        let job = UnownedJob(job)
        loop.execute { unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
