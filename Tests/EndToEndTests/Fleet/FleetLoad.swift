// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import NIOCore
import Synchronization

@testable import LoadTest

/// The outcome of one request of a load.
struct Visit: Sendable {
    /// The time at which it was due.
    let start: ContinuousClock.Instant
    let end: ContinuousClock.Instant
    /// Nil without an answer.
    let status: Int?
    /// The contents of a 200.
    let facts: Facts?

    struct Facts: Decodable, Sendable {
        let verdict: String
        let provenance: Provenance

        struct Provenance: Decodable, Sendable {
            let source, cache: String
            let degraded_reasons: [String]
        }
    }

    var latency: Duration { end - start }
    /// True if a locally verifiable receipt was called genuine.
    var isGenuine: Bool { facts?.verdict == "genuine" }
    /// True if the client got no answer, or a 5xx.
    var isFailure: Bool { status.map { $0 >= 500 } ?? true }
}

/// Requests at a steady rate, through the load balancer.
struct FleetLoad: Sendable {
    let port: Int
    let perSecond: Double
    var connections = 32
    var key: String?
    var mode = VerifyMode.auto
    /// Returns the receipt for the request of this number, in base64.
    let receipt: @Sendable (Int) -> String

    /// Returns receipts that each repeat this many times in a row: round robin, once at each node.
    static func distinctReceipts(from first: Int, timesEach times: Int = 3) -> @Sendable (Int) -> String {
        { Sample.receipt(first + $0 / times) }
    }

    /// Sends requests until the body ends, and waits for every answer.
    func run<Value: Sendable>(
        during body: (FleetLog) async throws -> Value
    ) async throws -> (value: Value, visits: [Visit]) {
        let log = FleetLog()
        let schedule = Schedule(.steady(perSecond: perSecond, count: 1_000_000), start: .now)
        async let load: Void = drive(schedule, log)
        do {
            let value = try await body(log)
            schedule.end()
            await load
            return (value, log.visits)
        } catch {
            schedule.end()
            await load
            throw error
        }
    }

    /// Sends requests until there are this many answers.
    func run(visits count: Int) async throws -> [Visit] {
        let outcome = try await run { log in
            while log.visits.count < count { try await Task.sleep(for: .milliseconds(20)) }
        }
        return outcome.visits
    }

    private func drive(_ schedule: Schedule, _ log: FleetLog) async {
        await LoadDriver(port: port, connections: connections).run(schedule) { turn in
            .verify(receipt(turn), mode: mode, key: key)
        } record: {
            log.record($0)
        }
    }
}

/// The outcomes of a load so far.
final class FleetLog: Sendable {
    private let state = Mutex<[Visit]>([])

    var visits: [Visit] { state.withLock { $0 } }

    func record(_ outcome: LoadDriver.Outcome) {
        let end = ContinuousClock.now
        var (status, facts): (Int?, Visit.Facts?) = (nil, nil)
        if case .success(let reply) = outcome.reply {
            status = reply.status
            facts = try? JSONDecoder().decode(Visit.Facts.self, from: Data(reply.body.readableBytesView))
        }
        state.withLock { [status, facts] in
            $0.append(Visit(start: end - outcome.latency, end: end, status: status, facts: facts))
        }
    }
}
