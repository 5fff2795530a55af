// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import NIOPosix

/// The scheduler of one event loop, used on that loop only. It orders the work of a turn:
///
/// ```
///    ┌──▶ read the sockets ──▶ send known answers ──▶ verify, up to 500 µs ──▶ send these answers ──┐
///    └───────────────────────────────────────────────────────────────────────────────────────────┘
/// ```
///
/// A verification computes for a while; a cached answer takes almost no time. If each verification ran on arrival, a
/// flood of new receipts would delay every request with a cached answer.
///
/// The same work for several requests is done together: its code is then in the processor's caches, and a client with
/// several connections is woken once for all of its answers.
final class EventLoopScheduler: Sendable {
    enum Limits {
        /// The time slice: half a dozen receipts of ordinary size, so that polling the sockets in between costs little.
        static let timeSlice = TimeAmount.microseconds(500)
        /// The pause before the next turn, after a full slice or for pipelined requests, on a loop without a `NextTurn`.
        static let pause = TimeAmount.microseconds(20)
    }

    private struct State {
        /// At most one verification for each connection.
        var verifications = CircularBuffer<() -> Void>()
        var answers: [() -> Void] = []
        /// The time that verifications took since the sockets were last polled.
        var spent = TimeAmount.zero
        var isSliceScheduled = false
        var isSendingScheduled = false
        var isSending = false
    }

    private let loop: any EventLoop
    private let now: @Sendable () -> NIODeadline
    private let state: NIOLoopBoundBox<State>
    private let nextTurn: NextTurn?

    init(on loop: any EventLoop, now: @escaping @Sendable () -> NIODeadline = { .now() }) {
        self.loop = loop
        self.now = now
        state = NIOLoopBoundBox(State(), eventLoop: loop)
        nextTurn = NextTurn(on: loop)
    }

    /// Runs a verification in the slice of this turn, or of a later turn.
    func verify(_ verification: @escaping () -> Void) {
        state.value.verifications.append(verification)
        guard !state.value.isSliceScheduled else { return }
        state.value.isSliceScheduled = true
        schedule { $0.runSlice() }
    }

    /// Sends an answer in this turn, together with the turn's other answers.
    func send(_ answer: @escaping () -> Void) {
        state.value.answers.append(answer)
        guard !state.value.isSendingScheduled else { return }
        state.value.isSendingScheduled = true
        schedule { $0.sendAnswers() }
    }

    /// Schedules work for this turn. What an answer brings on, the next of many pipelined requests, is for the next turn.
    private func schedule(_ work: @escaping @Sendable (EventLoopScheduler) -> Void) {
        if state.value.isSending {
            scheduleForNextTurn { work(self) }
        } else {
            loop.execute { work(self) }
        }
    }

    private func sendAnswers() {
        let answers = state.value.answers
        state.value.answers = []
        (state.value.isSendingScheduled, state.value.isSending) = (false, true)
        for send in answers { send() }
        state.value.isSending = false
    }

    private func runSlice() {
        sendAnswers()
        // So that nothing is scheduled for the answers of this slice.
        state.value.isSendingScheduled = true
        let start = state.value.spent, begin = now()
        while state.value.spent < Limits.timeSlice, let verify = state.value.verifications.popFirst() {
            verify()
            state.value.spent = start + (now() - begin)
        }
        sendAnswers()
        scheduleNextSlice()
    }

    private func scheduleNextSlice() {
        let isFull = state.value.spent >= Limits.timeSlice
        if isFull { state.value.spent = .zero }
        state.value.isSliceScheduled = isFull || !state.value.verifications.isEmpty
        if state.value.isSliceScheduled { scheduleForNextTurn { self.runSlice() } }
    }

    private func scheduleForNextTurn(_ work: @escaping @Sendable () -> Void) {
        if nextTurn?.schedule(work) != true { loop.scheduleTask(in: Limits.pause, work) }
    }

    private static let ofThisThread = ThreadSpecificVariable<EventLoopScheduler>()

    /// Returns the scheduler of an event loop, on its own thread. The loops of tests share a thread.
    static func scheduler(of loop: any EventLoop) -> EventLoopScheduler {
        if let scheduler = ofThisThread.currentValue, scheduler.loop === loop { return scheduler }
        let scheduler = EventLoopScheduler(on: loop)
        ofThisThread.currentValue = scheduler
        return scheduler
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
