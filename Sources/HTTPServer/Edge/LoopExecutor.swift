// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

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
