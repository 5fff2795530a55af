// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import Synchronization

/// The owner of one POSIX thread.
///
/// Swift's own threads are shared and as many as the cores; a measurement needs an exact number, and blocks them.
///
/// SAFETY: the body is retained once for the thread, which releases it; the thread is joined once, at the latest when
/// its owner goes.
@safe final class WorkerThread {
    private let thread: pthread_t
    private var isJoined = false

    /// Starts a thread; throws if the system has none to give.
    init(_ body: @escaping @Sendable () -> Void) throws(ThreadError) {
        let body = unsafe Unmanaged.passRetained(Body(body))
        var thread = pthread_t()
        let status = unsafe pthread_create(&thread, nil, runBody, body.toOpaque())
        guard status == 0 else {
            unsafe body.release()
            throw ThreadError(code: status)
        }
        self.thread = thread
    }

    deinit {
        join()
    }

    func join() {
        guard !isJoined else { return }
        isJoined = true
        pthread_join(thread, nil)
    }
}

struct ThreadError: Error, Hashable, CustomStringConvertible {
    /// `EAGAIN` or `EPERM`, see pthread_create(3).
    let code: Int32

    var description: String { "The system does not start another thread (error \(code)); use fewer --threads." }
}

private final class Body: Sendable {
    let run: @Sendable () -> Void

    init(_ run: @escaping @Sendable () -> Void) {
        self.run = run
    }
}

private func runBody(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let argument = unsafe argument else { return nil }
    unsafe Unmanaged<Body>.fromOpaque(argument).takeRetainedValue().run()
    return nil
}

/// A number of threads that do the same at the same time.
struct Threads {
    let count: Int

    /// Runs `body` on each thread, with the thread's number from 0, and waits for all of them.
    ///
    /// - Returns: the results in the threads' order.
    /// - Throws: the error of the first thread that failed.
    func run<Value: Sendable>(_ body: @escaping @Sendable (_ thread: Int) throws -> Value) throws -> [Value] {
        let results = Mutex<[Int: Result<Value, any Error>]>([:])
        let workers = try (0..<count).map { thread in
            try WorkerThread {
                let result = Result { try body(thread) }
                results.withLock { $0[thread] = result }
            }
        }
        for worker in workers { worker.join() }
        return try results.withLock { results in try (0..<count).compactMap { try results[$0]?.get() } }
    }
}
