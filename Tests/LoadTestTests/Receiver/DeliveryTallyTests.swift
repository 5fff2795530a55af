// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import LoadTest

/// The counts of one endpoint's deliveries.
struct DeliveryTallyTests {
    /// An event's number, its chain, and the second at which it occurred.
    private typealias Sent = (number: Int, chain: String?, second: Int)

    private func tally(_ events: [Sent], gapAt gap: Int? = nil) throws -> DeliveryTally {
        var tally = DeliveryTally()
        for (number, chain, second) in events {
            let id = "evt_\(number)"
            let event = try ReceivedEvent.sample(id: id, chain: chain, second: second, followsGap: number == gap)
            tally.accept(id: id, event, at: .now)
        }
        return tally
    }

    @Test func `an ID counts once, and then as a duplicate`() throws {
        let counts = try tally([(1, "a", 1), (2, "a", 2), (1, "a", 1), (2, "a", 2)]).counts
        #expect(counts.accepted == 4 && counts.distinct == 2 && counts.duplicates == 2 && counts.orderViolations == 0)
    }

    @Test func `an earlier event after a later one of its chain is out of order`() throws {
        let events: [Sent] = [(1, "a", 5), (2, "b", 1), (3, "a", 5), (4, "a", 4), (5, nil, 0)]
        #expect(try tally(events).counts.orderViolations == 1)
    }

    @Test func `fractions of seconds compare as times do`() throws {
        var tally = DeliveryTally()
        for (number, time) in ["10:00:00Z", "10:00:00.001Z", "10:00:00.01Z", "10:00:01Z"].enumerated() {
            tally.accept(id: "\(number)", try .sample(id: "\(number)", chain: "a", time: time), at: .now)
        }
        #expect(tally.counts.orderViolations == 0)
    }

    @Test func `the order digest depends on the order within each chain alone`() throws {
        let order = try tally([(1, "a", 1), (2, "b", 1), (3, "a", 2), (4, "b", 2)]).order
        #expect(try tally([(2, "b", 1), (4, "b", 2), (1, "a", 1), (1, "a", 1), (3, "a", 2)]).order == order)
        #expect(try tally([(3, "a", 2), (1, "a", 1), (2, "b", 1), (4, "b", 2)]).order != order)
        #expect(try tally([(1, "a", 1), (2, "b", 1), (3, "a", 2)]).order != order)
    }

    @Test func `a gap is counted`() throws {
        #expect(try tally([(1, "a", 1), (3, "a", 3)], gapAt: 3).counts.gaps == 1)
    }
}

extension ReceivedEvent {
    /// Returns an event of some minute's second.
    static func sample(
        id: String, chain: String?, second: Int = 0, followsGap: Bool = false
    ) throws -> ReceivedEvent {
        try sample(id: id, chain: chain, time: "10:00:0\(second)Z", followsGap: followsGap)
    }

    static func sample(
        id: String, chain: String?, time: String, followsGap: Bool = false
    ) throws -> ReceivedEvent {
        let delivery = ReceivedDelivery.sample(id: id, chain: chain, time: time, followsGap: followsGap)
        return try #require(delivery.event)
    }
}

extension ReceivedDelivery {
    /// Returns a delivery as the gateway sends it, without a signature.
    static func sample(
        id: String, chain: String? = "1000", time: String = "10:00:00Z", followsGap: Bool = false
    ) -> ReceivedDelivery {
        let subject = chain.map { #""original_transaction_id":"\#($0)""# } ?? ""
        let gap = followsGap ? #","gap":true"# : ""
        let type = "subscription.renewed"
        var headers = ["webhook-id": id, "ce-specversion": "1.0", "ce-id": id, "ce-type": type]
        headers["ce-subject"] = chain
        let body = #"{"id":"\#(id)","type":"\#(type)","timestamp":"2026-11-23T\#(time)","data":{\#(subject)}\#(gap)}"#
        return ReceivedDelivery(headers: headers, body: Array(body.utf8))
    }
}
