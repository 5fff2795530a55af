// SPDX-License-Identifier: Apache-2.0

import Cryptography
import Foundation
import Receipts
import ServiceLifecycle
import Synchronization
import Testing
import TestSupport

@testable import Clients
@testable import Customers
@testable import Gateway
@testable import HTTPServer
@testable import RedisStore
@testable import Server
@testable import ServerTestSupport
@testable import Settings
@testable import Telemetry

/// Webhooks as the gateway wires them, from the log of events to a real endpoint.
@Suite("The delivery of webhooks in a gateway", .timeLimit(.patient))
struct WebhookServiceTests {
    private static let endpoint = "shop/billing"

    @Test func `an event in the log arrives at the endpoint, signed`() async throws {
        let receiver = WebhookReceiver()
        try await receiver.run { port in
            let stage = try Stage(port: port)
            try await stage.run {
                try await stage.deliverFirst(to: receiver)
                let received = try #require(receiver.received.first)
                #expect(received.requestLine == "POST /hooks HTTP/1.1")
                let id = try #require(received.headers["webhook-id"])
                let event = try #require(stage.events.first { $0.id == id })
                #expect(received.body == event.json)
                #expect(received.headers["content-type"] == "application/json")
                #expect(received.headers["ce-type"] == "subscription.renewed" && received.headers["ce-id"] == id)
                #expect(received.headers["user-agent"] == "receipt-gateway/\(Version.current)")
                try Self.checkSignature(of: received)
            }
        }
    }

    @Test func `a delivery is counted, and the survey has the state of the endpoint`() async throws {
        let receiver = WebhookReceiver(),
            delivered = #"webhook_deliveries_total{endpoint="shop/billing",outcome="delivered"}"#
        try await receiver.run { port in
            let stage = try Stage(port: port)
            #expect(stage.metric(delivered) == 0)
            try await stage.run {
                try await stage.deliverFirst(to: receiver)
                try await eventually { stage.metric(delivered) > 0 }
                try await eventually { stage.metric(#"webhook_held_events{endpoint="shop/billing"}"#) == 0 }
            }
        }
    }

    @Test func `an endpoint that fails is counted by its reason`() async throws {
        let receiver = WebhookReceiver(status: 307)
        try await receiver.run { port in
            let stage = try Stage(port: port)
            try await stage.run {
                try await stage.deliverFirst(to: receiver)
                try await eventually {
                    stage.metric(#"webhook_failures_total{endpoint="shop/billing",reason="redirect"}"#) > 0
                }
            }
        }
    }

    @Test func `a private address gets nothing unless it is allowed`() async throws {
        let receiver = WebhookReceiver()
        try await receiver.run { port in
            let stage = try Stage(port: port, allowsPrivateAddresses: false)
            try await stage.run {
                try await eventually {
                    stage.append()
                    let series = #"webhook_failures_total{endpoint="shop/billing",reason="forbidden_address"}"#
                    return stage.metric(series) > 0
                }
            }
            #expect(receiver.received.isEmpty)
        }
    }

    @Test func `without a clients file there is nothing to deliver to`() throws {
        let stage = try Stage(port: 1)
        let access = CurrentAccess(Access(AccessRules()))
        let service = try WebhookService(
            GatewayConfiguration(), stage.fleet, access: access, liveNodes: { 1 }, metrics: stage.metrics,
            clock: { .now() })
        #expect(service == nil)
    }

    @Test func `a file without authorities is a problem of its setting`() throws {
        let stage = try Stage(port: 1)
        var configuration = GatewayConfiguration()
        configuration.clientsFile = "clients.yaml"
        configuration.webhooks.caFile = "/nowhere/authorities.pem"
        let problems = #expect(throws: ConfigurationProblems.self) {
            try WebhookService(
                configuration, stage.fleet, access: stage.access, liveNodes: { 1 }, metrics: stage.metrics,
                clock: { .now() })
        }
        #expect(
            problems?.problems.map(\.description) == [
                "/nowhere/authorities.pem: is not a PEM file with readable certificates (gateway.webhooks.ca_file)"
            ])
    }

    // MARK: - Surveys

    @Test func `a survey adds up all queues of an endpoint, and the last one counts while the store is away`()
        async throws
    {
        let store = SurveyedStore()
        let endpoint = WebhookEndpoint(
            name: Self.endpoint, apps: Set((1...40).map { "com.example.\($0)" }), url: "https://shop.example.com/")
        let surveys = WebhookSurveys { [Self.endpoint] }
        let surveyor = WebhookSurveyor(store: store, endpoints: { [endpoint] }, surveys: surveys)
        await surveyor.survey(endpoint)
        #expect(surveys.endpoints.map(\.held) == [320] && surveys.endpoints.map(\.dead) == [640])
        #expect(store.sizes == [320])
        store.isReachable.withLock { $0 = false }
        await surveyor.survey(endpoint)
        #expect(surveys.endpoints.map(\.held) == [320])
    }

    // MARK: - Support

    /// Checks `v1` of the Standard Webhooks: HMAC-SHA256 of ID, time and body.
    private static func checkSignature(of received: WebhookReceiver.Received) throws {
        let id = try #require(received.headers["webhook-id"])
        let time = try #require(received.headers["webhook-timestamp"])
        let key = try #require(Data(base64Encoded: String(WebhookSamples.key.dropFirst("whsec_".count))))
        let message = Array("\(id).\(time).".utf8) + received.body
        let code = HMACKey(Array(key)).code(for: message.span)
        #expect(received.headers["webhook-signature"] == "v1,\(Data(code).base64EncodedString())")
    }

    /// The webhooks of a gateway without Redis, with one endpoint.
    private final class Stage: Sendable {
        let access: CurrentAccess
        let metrics: GatewayMetrics
        let fleet: FleetStore
        private let log: EmbeddedEventLog
        private let service: WebhookService
        private let appended = Mutex(0)

        init(port: Int, allowsPrivateAddresses: Bool = true) throws {
            var configuration = GatewayConfiguration()
            (configuration.webhooks.allowsPlainHTTP, configuration.webhooks.allowsPrivateAddresses) =
                (true, allowsPrivateAddresses)
            access = CurrentAccess(
                Access(
                    AccessRules(webhooks: [
                        WebhookEndpoint(
                            name: endpoint, apps: [WebhookSamples.app], url: "http://localhost:\(port)/hooks",
                            keys: [try WebhookKey(WebhookSamples.key)])
                    ])))
            let dependencies = Dependencies(
                logger: .silent,
                shutdownRequests: AsyncStream { $0.finish() })
            let health = StoreHealth(isEmbedded: true), upstreams = UpstreamState(configuration.apple)
            metrics = GatewayMetrics(
                configuration, lifecycle: ServerLifecycle(), bodyBudget: BodyBudget(.mebibytes(1)), access: access,
                upstreams: upstreams, store: health, in: dependencies)
            fleet = try FleetStore(
                configuration, upstreams: upstreams, health: health, metrics: metrics.store,
                certificates: metrics.certificates, clock: dependencies.clock, logger: dependencies.logger)
            log = try #require(fleet.events as? EmbeddedEventLog)
            service = try #require(
                try WebhookService(
                    configuration, fleet, access: access, liveNodes: { 1 }, metrics: metrics, clock: { .now() }))
        }

        /// Runs the service during `body`, and stops it as a gateway does.
        func run(
            isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> Void
        ) async throws {
            let group = ServiceGroup(
                configuration: ServiceGroupConfiguration(
                    services: [.init(service: UnprintedService(service))],
                    logger: .silent))
            let running = Task { try await group.run() }
            let outcome: Result<Void, any Error>
            do { outcome = .success(try await body()) } catch { outcome = .failure(error) }
            await group.triggerGracefulShutdown()
            try await running.value
            try outcome.get()
        }

        /// The events in the log.
        var events: [Event] { (1...max(1, appended.withLock { $0 })).map(WebhookSamples.event) }

        /// Adds a new event to the log, and announces it.
        func append() {
            let number = appended.withLock { appended in
                appended += 1
                return appended
            }
            let event = WebhookSamples.event(number)
            log.append(event, to: .events, of: event.partition)
            service.dispatcher.announce(event.partition)
        }

        /// Appends events until one arrives: a new endpoint begins at the newest event.
        func deliverFirst(
            to receiver: WebhookReceiver, isolation: isolated (any Actor)? = #isolation
        ) async throws {
            try await eventually {
                self.append()
                return !receiver.received.isEmpty
            }
        }

        func metric(_ series: String) -> Double { metrics.registry.value(of: series) ?? 0 }
    }
}

/// A store whose queues all hold one event, and have two dead ones.
private final class SurveyedStore: DeliveryStore {
    let isReachable = Mutex(true)
    private let requests = Mutex<[Int]>([])

    /// The numbers of queues in the requests.
    var sizes: [Int] { requests.withLock { $0 } }

    func survey(_ queues: [DeliveryQueue]) throws(StoreUnreachable) -> [DeliverySurvey] {
        guard isReachable.withLock({ $0 }) else { throw StoreUnreachable() }
        requests.withLock { $0.append(queues.count) }
        return queues.map { _ in
            var survey = DeliverySurvey()
            (survey.held, survey.dead) = (1, 2)
            return survey
        }
    }

    func acquire(_ queue: DeliveryQueue, for lease: Duration) -> DeliveryState? { nil }
    func save(_ changes: DeliveryChanges, of queue: DeliveryQueue, renewing lease: Duration) {}
    func begin(_ queues: [DeliveryQueue]) {}
    func release(_ queue: DeliveryQueue) {}
    func dead(_ queue: DeliveryQueue, maximum: Int) -> [DeadDelivery] { [] }
    func redeliver(_ queue: DeliveryQueue, eventID: String?) -> Int { 0 }
    func rewind(_ queue: DeliveryQueue, to position: EventPosition) {}
    func enable(_ queue: DeliveryQueue) {}
}
