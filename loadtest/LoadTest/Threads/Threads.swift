// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// A number of threads that do the same at the same time.
struct Threads {
    let count: Int

    /// Runs `body` on each thread, with the thread's number from 0, and waits for all of them.
    ///
    /// - Returns: the results in the threads' order.
    /// - Throws: the error of the first thread that failed.
    func run<Value: Sendable>(_ body: @escaping @Sendable (_ thread: Int) throws -> Value) throws -> [Value] {
        let results = Results<Value>(count: count)
        let workers = try (0..<count).map { thread in
            try WorkerThread { results.set(Result { try body(thread) }, of: thread) }
        }
        for worker in workers { worker.join() }
        return try results.all()
    }
}

/// What each thread came back with.
private final class Results<Value: Sendable>: Sendable {
    private let values: Mutex<[Result<Value, any Error>?]>

    init(count: Int) {
        values = Mutex(Array(repeating: nil, count: count))
    }

    func set(_ result: Result<Value, any Error>, of thread: Int) {
        values.withLock { $0[thread] = result }
    }

    func all() throws -> [Value] {
        try values.withLock { $0 }.compactMap { try $0?.get() }
    }
}
