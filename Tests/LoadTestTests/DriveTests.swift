// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOHTTP1
import ReceiptForge
import Testing

@testable import AppleSimulator
@testable import LoadTest

/// What drives a server, without and with one.
struct DriveTests {
    // MARK: - Schedules

    @Test func `a steady schedule says when each turn is due, whoever is late`() {
        let start = ContinuousClock.now
        let schedule = Schedule(.steady(perSecond: 10, count: 3), start: start)
        let late = start + .seconds(60)
        #expect(schedule.next(at: start) == Schedule.Turn(number: 0, due: start))
        #expect(schedule.next(at: late) == Schedule.Turn(number: 1, due: start + .milliseconds(100)))
        #expect(schedule.next(at: start)?.due == start + .milliseconds(200))
        #expect(schedule.next(at: start) == nil)
    }

    @Test func `an eager schedule is due at once until its time is over`() {
        let start = ContinuousClock.now
        let schedule = Schedule(.eager(.seconds(2)), start: start)
        let moment = start + .seconds(1)
        #expect(schedule.next(at: moment) == Schedule.Turn(number: 0, due: moment))
        #expect(schedule.next(at: start + .seconds(2)) == nil)
    }

    // MARK: - Latencies

    @Test(arguments: [(50.0, 500.0), (99, 990), (100, 1000), (0.1, 1)])
    func `percentiles of a thousand latencies are right to 2 percent`(percent: Double, milliseconds: Double) throws {
        var histogram = LatencyHistogram()
        for number in (1...1000).shuffled() { histogram.record(.milliseconds(number)) }
        let found = try #require(histogram.percentile(percent)).milliseconds
        #expect(found >= milliseconds && found <= milliseconds * 1.021)
    }

    @Test func `no latency is slower than the slowest, and none of none is none`() {
        var histogram = LatencyHistogram()
        #expect(histogram.percentile(50) == nil && histogram.slowest == .zero)
        histogram.record(.milliseconds(7))
        #expect(histogram.percentile(50) == .milliseconds(7) && histogram.percentile(100) == .milliseconds(7))
    }

    @Test func `latencies beyond every bucket are counted`() {
        var histogram = LatencyHistogram(), other = LatencyHistogram()
        histogram.record(.seconds(1_000_000))
        other.record(.zero)
        other.record(.seconds(-1))
        histogram.merge(other)
        #expect(histogram.count == 3 && histogram.slowest == .seconds(1_000_000))
        #expect(histogram.percentile(1)?.milliseconds == 0.001)
    }

    // MARK: - Scrapes

    @Test func `a scrape is read by name and labels`() {
        let scrape = Scrape(
            """
            # HELP requests_total Requests.
            # TYPE requests_total counter
            requests_total{route="/v1/verify",code="200"} 5
            requests_total{route="/v1/verify",code="400"} 2
            requests_total_created 9
            process_cpu_seconds_total 1.25
            broken{
            """)
        #expect(scrape.sum("requests_total") == 7)
        #expect(scrape.sum("requests_total", ["code": "400"]) == 2)
        #expect(scrape.sum("requests_total", ["code": "400", "route": "other"]) == 0)
        #expect(scrape.sum("process_cpu_seconds_total") == 1.25)
        #expect(scrape.samples("requests_total").map(\.labels["route"]) == ["/v1/verify", "/v1/verify"])
    }

    // MARK: - Connections

    private static func apple(_ yaml: String = "") async throws -> (apple: AppleSimulator, port: Int) {
        var configuration = AppleSimulator.Configuration(pki: TestBench.sample.pki)
        configuration.scenario = try Scenario(yaml: yaml)
        let apple = try await AppleSimulator.start(configuration)
        let port = try #require(
            apple.productionURL.split(separator: "/")[1].split(separator: ":").last.flatMap { Int($0) })
        return (apple, port)
    }

    @Test func `the driver sends each request of a schedule once, over the connections it may open`() async throws {
        let (apple, port) = try await Self.apple()
        let schedule = Schedule(.steady(perSecond: 1e6, count: 40), start: .now)
        let result = SharedLoadResult()
        await LoadDriver(port: port, connections: 3).run(schedule) { _ in
            .verify("AAAA", mode: .local)
        } record: {
            result.record($0)
        }
        // The path is none of the simulator's, and that is an answer too.
        #expect(result.result.latencies.count == 40 && result.result.failures == 40)
        #expect((1...3).contains(apple.statsDetails.connections))
        await apple.stop()
    }

    @Test func `what a server answers reaches who asked`() async throws {
        let (apple, port) = try await Self.apple()
        let connection = try await HTTPConnection.open(port: port)
        #expect(try await connection.text(of: "/stats").contains("distinct_receipts"))
        await #expect(throws: DriveError.status(404)) { try await connection.text(of: "/nowhere") }
        await connection.close()
        await #expect(throws: DriveError.connectionEnded) { try await connection.text(of: "/stats") }
        await apple.stop()
        await #expect(throws: DriveError.notConnected) { _ = try await HTTPConnection.open(port: port) }
    }

    @Test(arguments: [("reset", DriveError.connectionEnded), ("no_answer", .timeout), ("none", .answerTooLarge)])
    func `a server that misbehaves is a failure, not a wait`(fault: String, error: DriveError) async throws {
        let (apple, port) = try await Self.apple("faults: [{fault: \(fault)}]")
        var limits = DriveLimits()
        limits.maximumWait = .milliseconds(error == .timeout ? 20 : 20_000)
        limits.maximumAnswerBytes = 3
        let connection = try await HTTPConnection.open(port: port, limits: limits)
        await #expect(throws: error) { try await connection.text(of: "/verifyReceipt") }
        await apple.stop()
    }

    @Test func `a server that is gone is given up after a number of failures`() async throws {
        let (apple, port) = try await Self.apple()
        await apple.stop()
        let result = SharedLoadResult()
        let driver = LoadDriver(port: port, connections: 1)
        await driver.run(Schedule(.eager(.seconds(600)), start: .now)) { _ in
            .get("/")
        } record: {
            result.record($0)
        }
        #expect(result.result.failures == driver.limits.maximumFailuresInARow)
    }

    @Test func `a request says what was asked for`() {
        let request = PreparedRequest.verify("AAAA", mode: .auto, maximumAge: 3)
        #expect(String(buffer: request.body) == #"{"receipt":"AAAA","mode":"auto","max_age":3}"#)
        #expect(request.head.headers["Content-Length"] == [String(request.body.readableBytes)])
        #expect(String(buffer: PreparedRequest.verify("A", mode: .local).body) == #"{"receipt":"A","mode":"local"}"#)
    }
}
