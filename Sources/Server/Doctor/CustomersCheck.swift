// SPDX-License-Identifier: Apache-2.0

internal import AppStore
internal import Clients
internal import Customers
internal import Gateway
internal import HTTPClient
internal import Operations
internal import Receipts
internal import RedisStore
internal import Settings

extension AreaCheck {
    func checkNotifications(_ store: StoreFinding) {
        let access = Access(AccessRules(configuration, try? ClientsFile(configuration, at: clock())))
        guard access.servedApps?.isEmpty != true else {
            return report.ok("path", "none is offered: the clients file names no app")
        }
        let path = "/apple/notifications" + (configuration.notifications.token == nil ? "" : "/{token}")
        report.ok("path", "POST \(path) for \(access.servedApps.map { "apps: \($0.count)" } ?? "any app")")
        checkNotificationStore(store)
        checkAppNumbers(access.rules)
    }

    private func checkNotificationStore(_ store: StoreFinding) {
        switch store {
        case .notConfigured where configuration.notifications.allowsVolatile:
            report.ok("store", "there is no Redis: notifications and the states they leave end with the process")
        case .notConfigured:
            report.ok(
                "store",
                "there is no Redis: notifications are refused, unless gateway.notifications.allow_volatile is set")
        case .kept(let isPersistent):
            report.ok(
                "store",
                "Redis keeps up to \(configuration.notifications.backlog.configurationText) that are not applied yet"
                    + (isPersistent == false ? ", until it restarts (appendonly no)" : ""))
        case .fault(let level, let seen, let advice):
            report.record("store", level, "notifications get 503: \(seen)", advice)
        }
    }

    private func checkAppNumbers(_ rules: AccessRules) {
        let keys = rules.serverAPIKeys
        let apps = rules.knownApps.filter { keys.key(forApp: $0) != nil && keys.appAppleIDs[$0] == nil }.sorted()
        guard !apps.isEmpty else { return }
        report.warn(
            "app_apple_id", "not set for \(apps.listed): production notifications accept any app number",
            do: "Set `app_apple_id` of each app in the clients file: its Apple ID in App Store Connect.")
    }

    /// Checks the settings for deferred verifications, ownership and comparisons.
    func checkVerifications(_ store: StoreFinding) {
        let file = try? ClientsFile(configuration, at: clock()), clients = file?.clients ?? []
        let rules = configuration.jobs
        report.ok(
            "deferred",
            "each waits up to \(rules.maximumAge.configurationText); a client has \(rules.maximumCount) at most, of "
                + "\(ByteCount.bytes(rules.maximumBytes).configurationText); all together "
                + ByteCount.bytes(rules.maximumTotalBytes).configurationText)
        report.ok(
            "ownership",
            "a binding is kept for \(configuration.ownership.retention.configurationText) after its last use; "
                + "fraud.suspected beyond \(configuration.ownership.maximumAccounts) accounts within "
                + configuration.ownership.window.configurationText)
        checkComparison(AccessRules(configuration, file), store)
        if case .fault(let level, let seen, let advice) = store {
            report.record("store", level, "nothing is deferred, and `ownership` may be unknown: \(seen)", advice)
        }
        guard store == .notConfigured else { return }
        let deferring = clients.filter { $0.deferral != .onRequest }.map(\.name).sorted()
        if !deferring.isEmpty {
            report.warn(
                "durability",
                "clients with `defer` but no Redis: \(deferring.listed). Deferred verifications end with the process",
                do: "Set gateway.redis.url, or remove `defer` from these clients.")
        }
        let rejecting = clients.filter { $0.ownership == .reject }.map(\.name).sorted()
        guard !rejecting.isEmpty else { return }
        report.warn(
            "bindings",
            "clients with `ownership: reject` but no Redis: \(rejecting.listed). After a restart any account is the first",
            do: "Set gateway.redis.url, or let these clients have `ownership: report`.")
    }

    private func checkComparison(_ access: AccessRules, _ store: StoreFinding) {
        let rules = configuration.comparison
        guard rules.mode != .off else { return }
        if let (seen, advice) = configuration.comparisonFault(access) {
            return report.warn("comparison", seen, do: advice)
        }
        report.ok(
            "comparison",
            "\(rules.mode.rawValue), for a share of \(rules.share) of the new answers; requests to Apple per second, of all "
                + "nodes: \(rules.requestsPerSecond)"
                + (store == .notConfigured
                    ? ". Without Redis there is no report, only metrics and the status page" : ""))
    }

    // MARK: - Webhooks

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

extension CheckReport {
    /// Records the deferred verifications in the store. A Redis without them has no line.
    func record(_ counts: JobCounts?, _ rules: JobRules) {
        guard let counts, counts.waiting + counts.failed > 0 else { return }
        let seen =
            "deferred: \(counts.waiting) wait, of \(StatusValue.bytes(counts.bytes).text); \(counts.failed) were given up"
        if counts.bytes > rules.maximumTotalBytes / 5 * 4 {
            return warn(
                "verifications",
                seen + ". gateway.jobs.max_total_bytes is nearly reached, and further ones are refused",
                do: "Check the connection to Apple. Raise the limit if Redis has the memory.")
        }
        guard counts.failed == 0 else {
            return warn(
                "verifications", seen,
                do:
                    "`receipt-gateway verifications list --status failed` shows them; their clients must send the purchases "
                    + "again.")
        }
        ok("verifications", seen)
    }
}

extension DeliveryFault {
    var advice: String {
        switch self {
        case .invalidURL: "Correct the URL in the clients file: https, or http with gateway.webhooks.allow_http."
        case .resolve: "The name has no address. Correct the URL, or DNS on this machine."
        case .forbiddenAddress:
            """
            The name has a private address. If the receiver is yours, set gateway.webhooks.allow_private_addresses; \
            otherwise correct the URL.
            """
        case .connect:
            "No server accepts connections there. Start the receiver, or let this machine reach it (firewall, proxy)."
        case .tls:
            """
            TLS failed, or the certificate is not trusted, expired, or for another name. Renew it, or name its \
            authority in gateway.webhooks.ca_file.
            """
        case .timeout:
            "No answer in time. Let the receiver answer before it processes an event, or raise gateway.webhooks.timeout."
        case .reset: "The connection ended early. Check the receiver's log, and the load balancer before it."
        case .redirect: "Redirects are not followed. Set the final URL in the clients file."
        case .gone:
            "410 disables the endpoint until an operator enables it. Remove it from the clients file, or correct the route."
        case .overloaded: "The receiver wants fewer events. Give it more capacity; deliveries wait meanwhile."
        case .rejected:
            """
            The receiver rejects the event. For 401 or 403 compare its key with the one in the clients file; for 404 \
            correct the path. Its log says more.
            """
        case .failed: "The receiver failed. Its log says why."
        case .local: "A fault of this machine: it allows no connection. Check its limits with `receipt-gateway doctor`."
        }
    }
}
