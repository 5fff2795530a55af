// SPDX-License-Identifier: Apache-2.0

import Foundation
import NIOCore
import Synchronization
import Testing
import TestSupport

@testable import LoadTest

/// The outcome of one request of a load.
struct RequestOutcome: Sendable {
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

    /// Sends requests for as long as the body takes, and waits for every answer.
    func run<Value: Sendable>(
        during body: (FleetLog) async throws -> Value
    ) async throws -> (value: Value, outcomes: [RequestOutcome]) {
        let log = FleetLog()
        let run = try load(log)
        let (begun, beginning) = AsyncStream<Void>.makeStream()
        async let finished: Void = {
            defer { beginning.finish() }
            _ = try await run.run { if case .began = $0 { beginning.finish() } }
        }()
        do {
            // The body begins with the first request, however long the connections took.
            for await _ in begun {}
            let value = try await body(log)
            run.drain()
            try await finished
            return (value, log.outcomes)
        } catch {
            run.drain()
            try? await finished
            throw error
        }
    }

    /// Sends requests until there are this many answers.
    func run(outcomes count: Int) async throws -> [RequestOutcome] {
        try await run { log in try await log.reach(count) }.outcomes
    }

    private func load(_ log: FleetLog) throws -> LoadRun {
        let target = try LoadTarget("http://127.0.0.1:\(port)/v1/verify")
        var plan = LoadPlan(target: target)
        let stage = RateStage(from: perSecond, to: perSecond, seconds: .infinity)
        plan.schedule = LoadSchedule(curve: RateCurve(stages: [stage]), pattern: .constant, first: perSecond)
        (plan.connections, plan.timeout) = (connections, Patience.forEvent)
        plan.limits.answer.openingBytes = 64 << 10
        plan.completion = log.record
        let fields = key.map { [HeaderField(name: "Authorization", value: "Bearer \($0)")] } ?? []
        let traffic = FleetTraffic(form: RequestForm(target: target, mode: mode, fields: fields), receipt: receipt)
        return LoadRun(plan: plan) { _ in traffic }
    }
}

/// Requests about the receipt of each turn.
private struct FleetTraffic: LoadTraffic {
    let form: RequestForm
    let receipt: @Sendable (Int) -> String
    private var turn = 0

    init(form: RequestForm, receipt: @escaping @Sendable (Int) -> String) {
        (self.form, self.receipt) = (form, receipt)
    }

    mutating func next() -> ByteBuffer {
        defer { turn += 1 }
        return form.request(receipt(turn))
    }
}

/// The outcomes of a load so far.
final class FleetLog: Sendable {
    private let state = Mutex<[RequestOutcome]>([])

    var outcomes: [RequestOutcome] { state.withLock { $0 } }

    /// Waits until there are this many outcomes.
    func reach(_ count: Int) async throws {
        try await eventually("\(count) requests have an outcome") { state.withLock { $0.count } >= count }
    }

    /// Waits until there are this many more outcomes.
    func reachMore(_ count: Int) async throws { try await reach(outcomes.count + count) }

    @Sendable func record(_ completion: Completion) {
        let end = ContinuousClock.now
        let facts = try? JSONDecoder().decode(RequestOutcome.Facts.self, from: Data(completion.opening))
        let outcome = RequestOutcome(start: end - completion.latency, end: end, status: completion.status, facts: facts)
        state.withLock { $0.append(outcome) }
    }
}
