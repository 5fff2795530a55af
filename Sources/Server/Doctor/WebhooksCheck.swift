// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import AppStore
internal import Clients
internal import Customers
internal import Gateway
internal import HTTPClient
internal import Receipts
internal import Settings

/// The answer of an endpoint to a request without an event.
struct TriedEndpoint: Sendable {
    struct Answer: Hashable, Sendable {
        let status: Int
        let took: Duration
        /// The difference of the endpoint's clock from this machine's; nil without a date.
        let clockDifference: Duration?
    }

    let endpoint: WebhookEndpoint
    let result: Result<Answer, DeliveryFault>
}

extension AreaCheck {
    fileprivate enum WebhookLimits {
        static let timeout: Duration = .seconds(8)
        /// Receivers usually reject a signature whose time differs by five minutes.
        static let clockDifference: Duration = .seconds(120)
    }

    /// Checks the endpoints of the clients file, and the store of events.
    ///
    /// A GET without a body proves DNS, addresses, route, proxy and TLS, and carries no event. An endpoint that takes events
    /// usually answers it with 404 or 405, so every status is well.
    func checkWebhooks() async {
        let rules = AccessRules(configuration, try? ClientsFile(configuration, at: clock()))
        guard !rules.webhooks.isEmpty else {
            return report.ok("endpoints", "the clients file has no webhooks")
        }
        recordEndpoints(rules.webhooks)
        recordEventStore(rules)
        let tried = await tryEndpoints(rules.webhooks)
        for endpoint in tried { record(endpoint) }
        recordClock(tried)
    }

    private func tryEndpoints(_ endpoints: [WebhookEndpoint]) async -> [TriedEndpoint] {
        var settings = TransportConfiguration(configuration.webhooks)
        settings.totalTimeout = WebhookLimits.timeout
        guard let transport = try? HTTPTransport(settings) else {
            report.fail("connection", "no connection can be set up", do: "Check gateway.webhooks.ca_file.")
            return []
        }
        let clock = clock
        let tried = await withTaskGroup(of: TriedEndpoint.self) { group in
            for endpoint in endpoints {
                group.addTask { await TriedEndpoint(trying: endpoint, through: transport, clock: clock) }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        await transport.shutdown()
        return tried.sorted { $0.endpoint.name < $1.endpoint.name }
    }
}

extension TriedEndpoint {
    fileprivate init(
        trying endpoint: WebhookEndpoint, through transport: HTTPTransport, clock: @Sendable () -> Timestamp
    ) async {
        self.endpoint = endpoint
        let sent = clock()
        do throws(TransportError) {
            let answer = try await transport.send(
                TransportRequest(.get, url: endpoint.url), deadline: .now + AreaCheck.WebhookLimits.timeout)
            let now = clock()
            let date = answer.headers.values(of: "Date").first.flatMap { HTTPDate.timestamp($0, now: now) }
            result = .success(
                Answer(
                    status: answer.status, took: answer.took,
                    clockDifference: date.map { sent.midpoint(to: now).duration(to: $0) }))
        } catch {
            // A page is an answer, too: the connection works.
            result =
                error == .tooLarge
                ? .success(Answer(status: 200, took: sent.duration(to: clock()), clockDifference: nil))
                : .failure(DeliveryFault(error))
        }
    }
}

// MARK: - Observations

extension AreaCheck {
    func recordEndpoints(_ endpoints: [WebhookEndpoint]) {
        let relays = endpoints.count { $0.stream == .relay }
        let apps = Set(endpoints.flatMap(\.apps)).count, keys = endpoints.reduce(0) { $0 + $1.keys.count }
        report.ok(
            "endpoints",
            "endpoints: \(endpoints.count), \(relays) of them for Apple's own bodies; apps: \(apps); keys: \(keys)")
        let plain = endpoints.filter { $0.url.hasPrefix("http://") }.map(\.name).sorted()
        guard !plain.isEmpty else { return }
        report.warn(
            "http", "events cross the network in the clear to \(plain.listed)",
            do: "Use https, unless the network is your own.")
    }

    func recordEventStore(_ rules: AccessRules) {
        if let (seen, advice) = configuration.webhookFault(rules) { return report.warn("store", seen, do: advice) }
        let retention = configuration.events.retention
        report.ok(
            "store",
            "\(retention.maximumCount) events of each app are kept, for \(retention.maximumAge.configurationText) at most"
        )
    }

    func record(_ tried: TriedEndpoint) {
        let name = tried.endpoint.name
        switch tried.result {
        case .success(let answer):
            report.ok(name, "reached within \(answer.took.rounded); status \(answer.status) to a GET without an event")
        case .failure(let fault): report.fail(name, "not reached (\(fault.rawValue))", do: fault.advice)
        }
    }

    /// Records the largest difference between this machine's clock and an endpoint's clock.
    func recordClock(_ tried: [TriedEndpoint]) {
        let differences = tried.compactMap { try? $0.result.get().clockDifference }
        guard let largest = differences.max(by: { $0.magnitude < $1.magnitude }) else { return }
        let limit = WebhookLimits.clockDifference
        guard largest.magnitude > limit else {
            return report.ok("clock", "differs from the endpoints' by less than \(limit.configurationText)")
        }
        report.warn(
            "clock",
            "an endpoint is \(largest.ahead) this machine: receivers may reject signatures as too old or too new",
            do: "Synchronise the clock (NTP), or let the receiver do so.")
    }
}
