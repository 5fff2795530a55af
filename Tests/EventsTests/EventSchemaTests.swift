// SPDX-License-Identifier: Apache-2.0

import Gateway
import JSON
import ReceiptForge
import Receipts
import Testing

@testable import Customers

private typealias Samples = EventSamples

/// docs/events.yaml and the code agree, in both directions.
struct EventSchemaTests {
    @Test func `every type and every source is in the schema, and nothing else is`() throws {
        let schema = try EventSchema()
        #expect(schema.words("properties", "type") == EventType.allCases.map(\.rawValue))
        #expect(
            schema.words("$defs", "Cause", "properties", "source") == EventCause.Source.allCases.map(\.rawValue))
    }

    @Test func `every event keeps to the schema, and every member of the schema is written by one`() throws {
        let schema = try EventSchema(), events = try Self.events()
        var written: Set<String> = []
        for event in events {
            let json = event.json(includingSignedData: true, followsGap: true)
            #expect(try schema.problems(in: json) == [], "\(event.type)")
            written.formUnion(EventSchema.paths(in: try JSONValue(parsing: json)))
        }
        #expect(schema.members.subtracting(written) == [])
        #expect(Set(events.map(\.type)) == Set(EventType.allCases))
    }

    @Test func `an event that breaks the schema is noticed`() throws {
        let schema = try EventSchema()
        let event = try #require(try Self.events().first { $0.type == .subscriptionExpired })
        let text = String(decoding: event.json, as: UTF8.self)
        #expect(try schema.problems(in: event.json) == [])
        for (part, other) in [
            (#""expires_date":"#, #""expire_date":"#), (#""source":"schedule""#, #""source":"guess""#),
            (#""schema_version":1"#, #""schema_version":2"#), ("evt_", "ev_"), ("T", "t"),
            (#""quantity":1"#, #""quantity":"1""#),
        ] {
            #expect(text.contains(part))
            #expect(try schema.problems(in: Array(text.replacing(part, with: other).utf8)) != [], "\(part)")
        }
    }

    @Test func `an event of version 1 names its version`() throws {
        #expect(try EventSchema().version == 1)
    }

    /// Events of every type that the code makes, and with every member.
    private static func events() throws -> [Event] {
        var events: [Event] = []
        for row in NotificationTableTests.rows {
            var chronicle = Chronicle()
            chronicle.keepsSignedData = true
            for event in row.before + [row.notified] { chronicle.take(try SignedNotice(event)) }
            // What dates alone make: at most three changes of one period.
            for _ in 1...3 { _ = chronicle.wait() }
            events += chronicle.events
        }
        var chronicle = Chronicle()
        chronicle.take(try SignedNotice(Samples.notice("SUBSCRIBED", "INITIAL_BUY", day: 0, rich, Samples.plan())))
        return events + chronicle.events + [suspicion, try completion(), try appWide()]
    }

    /// Notifications about no purchase, in one.
    private static func appWide() throws -> Event {
        var cause = EventCause(source: .notification, signedDate: Samples.day(0))
        (cause.notificationType, cause.notificationUUID) = ("TEST", "0f2b7a52-8c14-4b8e-8a5e-1c9d3e7f6a01")
        cause.traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
        (cause.summary, cause.externalPurchaseToken) = (Array("{}".utf8), Array(#"{"externalPurchaseId":"1"}"#.utf8))
        return try #require(Event.notification(cause, bundleID: "com.example.shop", .sandbox, at: Samples.day(0)))
    }

    /// A purchase that many accounts use.
    private static let suspicion = Event(
        suspecting: OwnershipClaim(Samples.chain, isFamilyShared: true), usedBy: 4, within: .seconds(30 * 86_400),
        at: Samples.day(0))

    /// A deferred verification that has ended.
    private static func completion() throws -> Event {
        let result = JobResult(
            json: [], verdict: "undecided", reason: "upstream_did_not_answer", bundleID: "com.example.shop")
        let job = VerificationJob(
            id: "ver_0123456789abcdefghijkl", client: "shop", createdAt: Samples.day(0), deadline: Samples.day(3),
            lane: .sandbox, traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", request: nil,
            status: .expired, result: result)
        return try #require(Event(completed: job, at: Samples.day(3)))
    }

    /// A purchase with the members that few have.
    private static let rich = Samples.period(1) { period in
        period.appAccountToken = "7e3fb20b-4cdb-47cc-936d-99d65f608138"
        (period.offerType, period.offerIdentifier) = (2, "spring")
        (period.offerDiscountType, period.offerPeriod) = ("PAY_AS_YOU_GO", "P1M")
        period.advancedCommerceInfo = #"{"items":[{"SKU":"gold"}]}"#
    }
}
