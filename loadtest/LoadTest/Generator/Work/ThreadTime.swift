// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// Processor time of the calling thread, in seconds.
struct ThreadTime: Hashable, Sendable {
    /// On a core.
    var running = 0.0
    /// Ready to run while others had the cores.
    var waiting = 0.0

    /// Since the thread began.
    static func current() -> ThreadTime {
        if let bytes = try? ByteFile(path: "/proc/thread-self/schedstat").contents(),
            let time = ThreadTime(schedstat: String(decoding: bytes, as: UTF8.self))
        {
            return time
        }
        var time = timespec()
        unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return ThreadTime(running: Double(time.tv_sec) + Double(time.tv_nsec) / 1e9)
    }

    static func - (left: ThreadTime, right: ThreadTime) -> ThreadTime {
        ThreadTime(running: max(0, left.running - right.running), waiting: max(0, left.waiting - right.waiting))
    }
}

extension ThreadTime {
    /// Reads what the kernel counts of a thread: nanoseconds running, nanoseconds waiting, turns.
    init?(schedstat text: String) {
        let numbers = text.split(whereSeparator: \.isWhitespace).map { UInt64($0) }
        guard numbers.count == 3, let running = numbers[0], let waiting = numbers[1] else { return nil }
        self.init(running: Double(running) / 1e9, waiting: Double(waiting) / 1e9)
    }
}
