// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// The requests beyond its limit that a client may get during a fault.
struct LimitExcess {
    /// The excess when Redis does not answer for a while: buckets become shares of the nodes, and are lost afterwards.
    static let ofLoss = LimitExcess(lostBuckets: 2, nodesReturnApart: true)

    /// The number of times that the buckets are lost with Redis, or become shares of the nodes: each time they are full
    /// again.
    var lostBuckets = 0
    /// True if the nodes come back to Redis one after another. Until the last is back, Redis gives its rate to the
    /// first, and the others still have their shares of it.
    var nodesReturnApart = false
}

/// The observations during a fault.
struct FaultOutcome {
    let fault: String
    /// The time from the end of the fault until the fleet was whole again.
    let recovery: Duration
    /// The requests of a client without a limit.
    let free: [RequestOutcome]
    /// The requests of a client with a limit of `Fleet.quota` per second.
    let limited: [RequestOutcome]
    var excess: LimitExcess

    var longest: Duration { (free + limited).map(\.latency).max() ?? .zero }
    var failures: Int { (free + limited).count { $0.isFailure } }
    var admitted: Int { limited.count { $0.status == 200 } }

    /// The maximum that the limited client may get in this time.
    var bound: Double {
        let quota = Double(Fleet.quota)
        let first = limited.map(\.start).min(), last = limited.map(\.end).max()
        guard let first, let last else { return 0 }
        let doubled: Duration = excess.nodesReturnApart ? recovery : .zero
        return quota * Double(1 + excess.lostBuckets) + quota * ((last - first + doubled) / .seconds(1))
    }

    /// Checks the guarantees of a fleet under any fault. A request without an answer in the load driver's time is a
    /// failure; durations are only listed in the table, because they depend on the machine.
    func expectPromises() {
        #expect(failures == 0, "\(fault): \(free.filter(\.isFailure)), \(limited.filter(\.isFailure))")
        #expect(free.count > 20 && free.allSatisfy { $0.isGenuine }, "\(fault): \(free.filter { !$0.isGenuine })")
        #expect(limited.allSatisfy { $0.status == 429 || $0.isGenuine }, "\(fault)")
        #expect(admitted > 0, "\(fault): a client with a limit gets nothing")
        #expect(Double(admitted) <= bound, "\(fault): \(admitted) were admitted, \(bound) may be")
    }

    /// Adds a line to the table in the file FLEET_TABLE, if it is set.
    func note() throws {
        guard let path = ProcessInfo.processInfo.environment["FLEET_TABLE"] else { return }
        let milliseconds = Int(longest / .milliseconds(1)), seconds = Int(recovery / .milliseconds(1))
        let degraded = free.count { $0.facts?.provenance.degraded_reasons.isEmpty == false }
        let line =
            "| \(fault) | \(free.count + limited.count) | \(milliseconds) ms | \(failures) | \(degraded) | "
            + "\(Double(seconds) / 1000) s | \(admitted) of \(Int(bound)) |\n"
        if !FileManager.default.fileExists(atPath: path) { try Data().write(to: URL(filePath: path)) }
        let file = try FileHandle(forWritingTo: URL(filePath: path))
        try file.seekToEnd()
        try file.write(contentsOf: Data(line.utf8))
        try file.close()
    }
}
