// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// Has a task run on one event loop. What a request waits for mostly arrives there: Redis is asked over the loop's own
/// connection, and the answer is written to one of the loop's. On any other thread each step of the task would wake
/// somebody up.
final class LoopExecutor: TaskExecutor {
    private let loop: any EventLoop

    init(_ loop: any EventLoop) { self.loop = loop }

    func enqueue(_ job: consuming ExecutorJob) {
        // SAFETY: a job must be run exactly once; the loop does so, and the task keeps this executor meanwhile.
        let job = UnownedJob(job)
        loop.execute { unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
