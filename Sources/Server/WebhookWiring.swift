// SPDX-License-Identifier: Apache-2.0

internal import Clients
internal import Customers
internal import Gateway
internal import HTTPClient
internal import Receipts
internal import RedisStore
internal import ServiceLifecycle
internal import Settings
internal import Telemetry

/// Delivers events to the endpoints in the clients file until the shutdown. Attempts in flight end first; the rest waits
/// in the store for other nodes.
struct WebhookService: Service {
    let dispatcher: WebhookDispatcher
    private let sender: HTTPWebhookSender
    private let surveyor: WebhookSurveyor

    func run() async throws {
        await cancelWhenGracefulShutdown {
            await withDiscardingTaskGroup { group in
                group.addTask { await dispatcher.run() }
                group.addTask { await surveyor.run() }
            }
        }
        await sender.shutdown()
    }

    /// Creates the service; nil without a clients file, as endpoints are in no other place.
    /// - Throws: the fault of the file that the configuration names.
    init?(
        _ configuration: GatewayConfiguration, _ fleet: FleetStore, access: CurrentAccess,
        liveNodes: @escaping @Sendable () -> Int, metrics: GatewayMetrics, tracing: RequestTracing = .off,
        clock: @escaping @Sendable () -> Timestamp
    ) throws(ConfigurationProblems) {
        let settings = configuration.webhooks
        let endpoints: @Sendable () -> [WebhookEndpoint] = { access.now.rules.webhooks }
        guard configuration.clientsFile != nil || !endpoints().isEmpty else { return nil }
        sender = try HTTPWebhookSender(
            settings, maximumEndpoints: ClientsFile.WebhookBounds.endpoints, concurrency: settings.concurrency,
            to: "the endpoints of webhooks", note: " (gateway.webhooks.ca_file)")
        dispatcher = WebhookDispatcher(
            log: fleet.events, store: fleet.deliveries, sender: tracing.traced(sender), endpoints: endpoints,
            liveNodes: liveNodes,
            concurrency: settings.concurrency, observe: metrics.webhooks.observe, clock: clock)
        surveyor = WebhookSurveyor(store: fleet.deliveries, endpoints: endpoints, surveys: metrics.webhookSurveys)
    }
}

extension HTTPWebhookSender {
    /// - Throws: the problem with a note, or with the connections to these peers.
    init(
        _ settings: WebhooksConfiguration, maximumEndpoints: Int, concurrency: Int, to peers: String, note: String = ""
    ) throws(ConfigurationProblems) {
        do throws(TransportError) {
            try self.init(
                TransportConfiguration(settings), maximumEndpoints: maximumEndpoints, concurrency: concurrency,
                timeout: settings.timeout)
        } catch {
            throw ConfigurationProblems(error, settings.caFile ?? "gateway.webhooks", to: peers, note: note)
        }
    }
}

/// Reads the state of all queues of all endpoints, for metrics and the status page.
struct WebhookSurveyor: Sendable {
    enum Limits {
        static let interval: Duration = .seconds(5)
    }

    let store: any DeliveryStore
    let endpoints: @Sendable () -> [WebhookEndpoint]
    let surveys: WebhookSurveys

    func run() async {
        while !Task.isCancelled {
            for endpoint in endpoints() { await survey(endpoint) }
            try? await Task.sleep(for: Limits.interval)
        }
    }

    /// Surveys an endpoint. While the store is unreachable, the last survey counts.
    func survey(_ endpoint: WebhookEndpoint) async {
        guard let found = try? await store.survey(endpoint.queues) else { return }
        surveys.record(found, ofEndpoint: endpoint.name)
    }
}
