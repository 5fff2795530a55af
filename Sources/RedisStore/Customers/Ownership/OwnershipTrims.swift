// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Redis

/// The trims in the background: how many there are, and the calls that wait for them.
///
/// Only the index entries of surplus accounts wait, since no record names these accounts any longer: an entry that is not
/// removed stays for the time of retention. All else is found again at the next use.
struct OwnershipTrims {
    enum Limits {
        /// The trims at the same time.
        static let running = 16
        /// The calls that wait; further calls are not made.
        static let waiting = 16_384
        /// The calls that a trim takes at once.
        static let batch = 256
    }

    private var running = 0
    private var waiting: [ScriptCall] = []

    /// Begins a trim.
    /// - Parameter surplus: the calls that wait if too many trims run.
    /// - Returns: false if too many run.
    mutating func begins(orKeeps surplus: [ScriptCall]) -> Bool {
        guard running < Limits.running else {
            waiting += surplus.prefix(Limits.waiting - waiting.count)
            return false
        }
        running += 1
        return true
    }

    /// Returns the next calls that wait; without any, the trim ends.
    mutating func next() -> [ScriptCall] {
        let calls = Array(waiting.prefix(Limits.batch))
        waiting.removeFirst(calls.count)
        if calls.isEmpty { running -= 1 }
        return calls
    }
}
