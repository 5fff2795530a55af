// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// Which thread goes first where several want the same core.
enum ThreadPriority {
    /// The system's numbers, of which not all come with their names.
    private enum Policy {
        /// SCHED_IDLE of sched(7).
        static let idle: CInt = 5
    }

    /// The calling thread runs only when no other wants its core; any thread may ask for that (sched(7), SCHED_IDLE).
    static func giveWay() {
        var parameters = sched_param()
        unsafe sched_setscheduler(0, Policy.idle, &parameters)
    }
}
