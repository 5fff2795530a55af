// SPDX-License-Identifier: Apache-2.0

import Receipts

@testable import Customers
@testable import ServerTestSupport

/// A log and deliveries in this process, with a clock that the test sets.
final class EventCommandStage: Sendable {
    static let app = "com.example.shop"
    static let start = Timestamp(millisecondsSince1970: 1_795_262_400_000)
    static let partitions = AppPartition.all(of: app)
    static let endpoint = WebhookEndpoint(
        name: "shop/crm", apps: [app], url: "https://crm.example.com/hooks?key=hidden")

    let log: EmbeddedEventLog
    let deliveries: EmbeddedDeliveryStore
    private let standing = StandingClock(at: start)

    init() {
        let clock: @Sendable () -> Timestamp = { [standing] in standing.time }
        log = EmbeddedEventLog(EventRetention(maximumCount: 80_000, maximumAge: .seconds(30 * 86_400)), clock: clock)
        deliveries = EmbeddedDeliveryStore(log: log, clock: clock)
    }

    var now: Timestamp { standing.time }
    func advance(by span: Duration) { standing.advance(by: span) }

    /// Writes one event for each number, a second apart, each about a chain of its own.
    @discardableResult
    func write(_ numbers: Range<Int>, _ type: EventType = .subscriptionRenewed) -> [Event] {
        numbers.map { number in
            let event = Self.event(number, type)
            log.append(event, to: .events, of: event.partition)
            advance(by: .seconds(1))
            return event
        }
    }

    static func event(_ number: Int, _ type: EventType = .subscriptionRenewed) -> Event {
        let id = Event.id(type.rawValue, bundleID: app, .production, cause: ["\(number)"])
        return Event(
            id: id, type: type, bundleID: app, environment: .production, originalTransactionID: "\(2000 + number)",
            occurredAt: start, json: Array(#"{"id":"\#(id)"}"#.utf8), signedData: Array(#"{"a":1}"#.utf8))
    }

    /// Delivers everything that is in the log.
    func deliverAll(to endpoint: WebhookEndpoint = endpoint) throws {
        for queue in endpoint.queues {
            guard let newest = log.newest([queue.partition], queue.stream)?.first, newest != .start else { continue }
            _ = deliveries.acquire(queue, for: .seconds(30))
            var changes = DeliveryChanges()
            changes.position = newest
            try deliveries.save(changes, of: queue, renewing: .seconds(30))
            deliveries.release(queue)
        }
    }
}
