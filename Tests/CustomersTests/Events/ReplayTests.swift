// SPDX-License-Identifier: Apache-2.0

import Foundation
import Gateway
import Receipts
import Testing

@testable import Customers
@testable import Server
@testable import ServerTestSupport

/// `events replay`, `events redeliver` and `events endpoints`.
struct ReplayTests {
    private static let endpoint = EventCommandStage.endpoint

    private static func replay(_ stage: EventCommandStage) -> Replay {
        Replay(log: stage.log, deliveries: stage.deliveries)
    }

    // MARK: - Replay

    @Test func `the events since a time go again, and no others`() async throws {
        let stage = EventCommandStage()
        stage.write(0..<100)
        try stage.deliverAll()
        let time = EventCommandStage.start.advanced(by: .seconds(70))
        let plan = try await Self.replay(stage).plan(Self.endpoint.queues, since: time)
        #expect(plan.steps.compactMap(\.count).reduce(0, +) == 30 && plan.oldest == time)
        #expect(plan.text(for: Self.endpoint).hasPrefix("30 events since \(time) go to shop/crm again. "))
        try await Self.replay(stage).carryOut(plan)
        let surveys = try await stage.deliveries.survey(Self.endpoint.queues)
        #expect(surveys.reduce(0) { $0 + $1.unread } == 30)
    }

    @Test func `all that the log has goes again from the start`() async throws {
        let stage = EventCommandStage()
        stage.write(0..<100)
        try stage.deliverAll()
        let plan = try await Self.replay(stage).plan(Self.endpoint.queues, since: nil)
        #expect(plan.steps.compactMap(\.count).reduce(0, +) == 100)
        #expect(plan.steps.allSatisfy { $0.target == .start })
    }

    @Test func `a replay never skips events that wait`() async throws {
        let stage = EventCommandStage()
        stage.write(0..<50)
        try stage.deliverAll()
        stage.write(50..<100)
        let time = EventCommandStage.start.advanced(by: .seconds(80))
        let plan = try await Self.replay(stage).plan(Self.endpoint.queues, since: time)
        #expect(plan.isEmpty)
        #expect(plan.text(for: Self.endpoint).contains("nothing to repeat"))
    }

    @Test func `an endpoint that had no event yet may begin in the past`() async throws {
        let stage = EventCommandStage()
        stage.write(0..<20)
        let plan = try await Self.replay(stage).plan(Self.endpoint.queues, since: nil)
        #expect(plan.steps.compactMap(\.count).reduce(0, +) == 20)
    }

    @Test func `an endpoint for some types is said to get these only`() async throws {
        let stage = EventCommandStage()
        stage.write(0..<5)
        try stage.deliverAll()
        var endpoint = Self.endpoint
        endpoint.types = [.subscriptionExpired]
        let plan = try await Self.replay(stage).plan(endpoint.queues, since: nil)
        #expect(plan.text(for: endpoint).contains("as far as its types include them"))
    }

    @Test func `nothing is planned while the store does not answer`() async {
        let replay = Replay(log: SilentLog(), deliveries: EventCommandStage().deliveries)
        await #expect(throws: StoreUnreachable.self) { try await replay.plan(Self.endpoint.queues, since: nil) }
    }

    // MARK: - Dead events

    private static func bury(_ numbers: Range<Int>, in stage: EventCommandStage) throws -> [Event] {
        let events = stage.write(numbers)
        try stage.deliverAll()
        for (number, event) in zip(numbers, events) {
            let queue = DeliveryQueue(endpoint: endpoint.name, partition: event.partition, stream: .events)
            var changes = DeliveryChanges()
            changes.dead = [
                DeadDelivery(
                    position: EventPosition(milliseconds: 1, counter: UInt64(number), number: 0), eventID: event.id,
                    chain: "c\(number)", attempts: 10, reason: "rejected",
                    time: EventCommandStage.start.advanced(by: .seconds(number)))
            ]
            _ = stage.deliveries.acquire(queue, for: .seconds(30))
            try stage.deliveries.save(changes, of: queue, renewing: .seconds(30))
        }
        return events
    }

    @Test func `the newest dead events of all queues are listed first`() async throws {
        let stage = EventCommandStage(), events = try Self.bury(0..<20, in: stage)
        let letters = DeadLetters(deliveries: stage.deliveries, queues: Self.endpoint.queues)
        let newest = try await letters.newest(5)
        #expect(newest.map(\.eventID) == events.suffix(5).reversed().map(\.id))
        let lines = DeadLetters.text(newest, of: "shop/crm").split(separator: "\n")
        #expect(lines.count == 6 && lines[0].hasPrefix("GIVEN UP") && lines[1].hasSuffix("10        rejected"))
        #expect(DeadLetters.text([], of: "shop/crm") == "shop/crm has no dead events.")
    }

    @Test func `one dead event or all are delivered again`() async throws {
        let stage = EventCommandStage(), events = try Self.bury(0..<20, in: stage)
        let letters = DeadLetters(deliveries: stage.deliveries, queues: Self.endpoint.queues)
        #expect(try await letters.redeliver(events[3].id) == 1)
        #expect(try await letters.redeliver(events[3].id) == 0)
        #expect(try await letters.redeliver(nil) == 19)
        #expect(try await letters.newest(100).isEmpty)
    }

    // MARK: - Endpoints

    @Test func `a disabled endpoint that is behind is shown so`() async throws {
        let stage = EventCommandStage()
        stage.write(0..<50)
        try stage.deliverAll()
        stage.write(50..<60)
        let queue = Self.endpoint.queues[0]
        var changes = DeliveryChanges()
        changes.disabledAt = EventCommandStage.start
        _ = stage.deliveries.acquire(queue, for: .seconds(30))
        try stage.deliveries.save(changes, of: queue, renewing: .seconds(3600))
        stage.advance(by: .seconds(600))
        let state = EndpointState(
            endpoint: Self.endpoint, surveys: try await stage.deliveries.survey(Self.endpoint.queues))
        let text = EndpointState.text([state], at: stage.now), line = try #require(text.split(separator: "\n").last)
        #expect(line.hasPrefix("shop/crm  crm.example.com  events  1     "), "\(text)")
        #expect(line.contains("  10      0     0     since 2026-11-21T12:00:00Z  1 of 8"), "\(text)")
        #expect(!text.contains("hidden"))
        let json = EndpointState.json([state]).jsonMembers
        let endpoint = try #require((json?["endpoints"] as? [[String: Any]])?.first)
        #expect(endpoint["name"] as? String == "shop/crm" && endpoint["unread"] as? Int == 10)
        #expect(endpoint["disabled_at"] as? String == "2026-11-21T12:00:00Z" && endpoint["leased"] as? Int == 1)
        #expect((endpoint["lag_seconds"] as? Int ?? 0) >= 600)
    }

    @Test func `a new endpoint has no position`() throws {
        let state = EndpointState(
            endpoint: Self.endpoint, surveys: [DeliverySurvey](repeating: DeliverySurvey(), count: 8))
        #expect(EndpointState.text([state], at: EventCommandStage.start).contains("never"))
        let json = EndpointState.json([state]).jsonMembers
        let endpoint = try #require((json?["endpoints"] as? [[String: Any]])?.first)
        #expect(endpoint["last_read"] is NSNull && endpoint["disabled_at"] is NSNull)
        #expect(EndpointState.text([], at: EventCommandStage.start) == "The clients file has no webhooks.")
    }

    @Test(
        arguments: [
            ("https://crm.example.com/a/b", "crm.example.com"), ("http://127.0.0.1:8080?x=1", "127.0.0.1:8080"),
            ("https://[::1]:443/", "[::1]:443"),
        ])
    func `only the host of a URL is shown`(url: String, host: String) {
        #expect(EndpointState(endpoint: WebhookEndpoint(name: "a/b", apps: [], url: url), surveys: []).host == host)
    }
}
