// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// What happened in one second of a run, as seen by one worker or by all.
struct SecondSlice: Sendable {
    /// Counted from 0, in which the first request was due, be it for warming up.
    var second: Int
    var counts = RequestCounts()
    /// Of the answers that came in this second.
    var response = Latencies()
    /// Of the requests that were taken up in it.
    var sendLag = Latencies()

    mutating func add(_ other: SecondSlice) {
        counts.add(other.counts)
        response.merge(other.response)
        sendLag.merge(other.sendLag)
    }

    mutating func begin(_ second: Int) {
        self.second = second
        counts = RequestCounts()
        response.removeAll()
        sendLag.removeAll()
    }
}
