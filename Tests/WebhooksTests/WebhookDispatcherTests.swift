// SPDX-License-Identifier: Apache-2.0

import Gateway
import Receipts
import Synchronization
import Testing
import TestSupport

@testable import Customers

/// The dispatcher with its tasks: endpoints beside each other, changes of the configuration, and the shutdown.
struct WebhookDispatcherTests {
    @Test func `an endpoint that does not answer delays no other`() async {
        let gate = Gate()
        let bench = DispatcherBench(["slow", "fast"]) { request in
            if request.url.hasSuffix("slow") { await gate.pass() }
            return .success(WebhookReply(status: 204))
        }
        for number in 0..<200 { bench.write(number) }
        await bench.whileRunning {
            let requests = await bench.sender.next(200 + DispatcherBench.concurrency)
            let fast = requests.filter { $0.url.hasSuffix("fast") }
            #expect(Set(fast.map(\.id)).count == 200)
            #expect(requests.count - fast.count == DispatcherBench.concurrency)
            gate.open()
            #expect(await bench.sender.next(200 - DispatcherBench.concurrency).allSatisfy { $0.url.hasSuffix("slow") })
        }
    }

    @Test func `a changed URL takes effect without a restart`() async {
        let bench = DispatcherBench(["old"])
        await bench.whileRunning {
            bench.write(0)
            #expect(await bench.sender.next(1).first?.url == "https://example.com/old")
            bench.change { $0[0].url = "https://example.com/new" }
            var requests: [WebhookRequest] = []
            while requests.last?.url != "https://example.com/new" {
                bench.write(1)
                requests += await bench.sender.next(1)
            }
        }
    }

    @Test func `an endpoint that is added receives events, and one that is removed is left to other nodes`()
        async throws
    {
        let bench = DispatcherBench(["one"])
        await bench.whileRunning {
            bench.write(0)
            _ = await bench.sender.next(1)
            bench.change { $0 = [DispatcherBench.endpoint("two")] }
            #expect(await bench.sender.next(1).first?.url == "https://example.com/two")
        }
        #expect(try await !bench.store.survey(DispatcherBench.queues("one")).contains(where: \.isLeased))
    }

    @Test func `attempts in flight end before the shutdown, and another node delivers the rest`() async {
        let gate = Gate()
        let bench = DispatcherBench(["hook"]) { _ in
            await gate.pass()
            return .success(WebhookReply(status: 204))
        }
        for _ in 0..<2 { bench.write(7) }
        let running = Task { await bench.dispatcher.run() }
        let first = await bench.sender.next(1)
        running.cancel()
        gate.open()
        await running.value
        #expect(bench.sender.count == 1)
        let second = RecordingSender()
        await bench.whileRunning(bench.node(second)) {
            let requests = await second.next(1)
            #expect(first.map(\.id) == ["evt_0"] && requests.map(\.id) == ["evt_1"])
        }
        #expect(second.count == 1)
    }

    @Test func `an event that this node announces is delivered`() async {
        let bench = DispatcherBench(["hook"])
        await bench.whileRunning {
            for number in 0..<20 {
                bench.dispatcher.announce(bench.write(number).partition)
                #expect(await bench.sender.next(1).first?.id == "evt_\(number)")
            }
        }
        #expect(bench.observer.deliveries == 20)
    }
}

/// A dispatcher with embedded ports, and endpoints that begin at the oldest event.
private final class DispatcherBench: Sendable {
    static let app = "com.example.app"
    static let concurrency = 4

    let log = EmbeddedEventLog(EventRetention(maximumCount: 80_000, maximumAge: .seconds(86_400))) { .now() }
    let store: EmbeddedDeliveryStore
    let sender: RecordingSender
    let observer = CountingObserver()
    let dispatcher: WebhookDispatcher
    private let endpoints: Endpoints
    private let written = Atomic<Int>(0)

    init(
        _ names: [String],
        _ answer: @escaping @Sendable (WebhookRequest) async -> Result<WebhookReply, DeliveryFault> = { _ in
            .success(WebhookReply(status: 204))
        }
    ) {
        store = EmbeddedDeliveryStore(log: log) { .now() }
        sender = RecordingSender(answer)
        endpoints = Endpoints(names.map(Self.endpoint))
        for queue in (names + ["two"]).flatMap(Self.queues) { store.rewind(queue, to: .start) }
        dispatcher = Self.node(sender, log, store, endpoints, observer)
    }

    static func endpoint(_ name: String) -> WebhookEndpoint {
        WebhookEndpoint(name: name, apps: [app], url: "https://example.com/\(name)")
    }

    static func queues(_ name: String) -> [DeliveryQueue] { endpoint(name).queues }

    /// Creates a further node.
    func node(_ sender: RecordingSender) -> WebhookDispatcher {
        Self.node(sender, log, EmbeddedDeliveryStore(sharedWith: store, node: 1), endpoints, observer)
    }

    private static func node(
        _ sender: RecordingSender, _ log: EmbeddedEventLog, _ store: EmbeddedDeliveryStore, _ endpoints: Endpoints,
        _ observer: CountingObserver
    ) -> WebhookDispatcher {
        WebhookDispatcher(
            log: log, store: store, sender: sender, endpoints: { endpoints.current.withLock { $0 } },
            liveNodes: { 1 }, concurrency: concurrency, observe: observer.observe, clock: { .now() })
    }

    func change(_ change: (inout [WebhookEndpoint]) -> Void) { endpoints.current.withLock { change(&$0) } }

    @discardableResult
    func write(_ chain: Int) -> Event {
        let id = "evt_\(written.add(1, ordering: .relaxed).oldValue)"
        let event = Event(
            id: id, type: .subscriptionRenewed, bundleID: Self.app, environment: .production,
            originalTransactionID: "\(chain)", occurredAt: .now(), json: Array(#"{"id":"\#(id)"}"#.utf8))
        log.append(event, to: .events, of: event.partition)
        return event
    }

    /// Runs a node until the work has ended.
    func whileRunning(_ node: WebhookDispatcher? = nil, _ work: () async -> Void) async {
        let node = node ?? dispatcher
        let running = Task { await node.run() }
        await work()
        running.cancel()
        await running.value
    }
}

private final class Endpoints: Sendable {
    let current: Mutex<[WebhookEndpoint]>

    init(_ endpoints: [WebhookEndpoint]) { current = Mutex(endpoints) }
}

private final class CountingObserver: Sendable {
    private let events = Mutex<[WebhookEvent]>([])

    func observe(_ event: WebhookEvent) { events.withLock { $0.append(event) } }

    var deliveries: Int {
        events.withLock { events in events.count { if case .delivered = $0 { true } else { false } } }
    }
}
