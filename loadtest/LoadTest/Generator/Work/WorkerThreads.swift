// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import NIOCore
internal import NIOPosix

/// The processor time of the calling thread, in seconds.
struct ThreadTime: Hashable, Sendable {
    var running = 0.0
    /// Time in which it was ready to run while other threads had the cores.
    var waiting = 0.0

    /// Returns the time since the thread began.
    static func current() -> ThreadTime {
        if let time = ThreadTime(schedstat: KernelFile("/proc/thread-self/schedstat").text) { return time }
        var time = timespec()
        unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return ThreadTime(running: Double(time.tv_sec) + Double(time.tv_nsec) / 1e9)
    }

    static func - (left: ThreadTime, right: ThreadTime) -> ThreadTime {
        ThreadTime(running: max(0, left.running - right.running), waiting: max(0, left.waiting - right.waiting))
    }
}

extension ThreadTime {
    /// Reads the kernel's text: nanoseconds running, nanoseconds waiting, time slices.
    init?(schedstat text: String) {
        let numbers = text.split(whereSeparator: \.isWhitespace).map { UInt64($0) }
        guard numbers.count == 3, let running = numbers[0], let waiting = numbers[1] else { return nil }
        self.init(running: Double(running) / 1e9, waiting: Double(waiting) / 1e9)
    }
}

extension MultiThreadedEventLoopGroup {
    /// Lets each thread run only when no other wants its core, which any thread may (sched(7), SCHED_IDLE).
    func giveWay() async throws {
        let idle: CInt = 5
        for loop in makeIterator() {
            try await loop.submit {
                var parameters = sched_param()
                unsafe sched_setscheduler(0, idle, &parameters)
            }.get()
        }
    }
}

/// The number of files that this process may have open; each connection is a file.
enum OpenFiles {
    /// Raises the limit as far as the system allows; throws unless so many connections and some more fit.
    static func makeRoom(for connections: Int) throws(LoadRunError) {
        var limit = rlimit()
        guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
        limit.rlim_cur = limit.rlim_max
        _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        guard connections + others <= Int(clamping: limit.rlim_max) else {
            throw .tooManyConnections(most: max(0, Int(clamping: limit.rlim_max) - others))
        }
    }

    /// Files of event loops, standard streams and metrics.
    private static let others = 100
}
