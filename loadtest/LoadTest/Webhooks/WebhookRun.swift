// SPDX-License-Identifier: Apache-2.0

internal import AppleSimulator

/// Gateways that deliver the events of many notifications to endpoints of this program.
struct WebhookRun: Sendable {
    let plan: WebhooksCommand
    let endpoints: [String]
    var fault = ReceiverFault.none
    /// False if the endpoints take only a type without events: gateways store and read events then, and send none.
    var delivers = false

    /// The endpoints without a fault that receive events.
    var healthy: [String] {
        guard delivers else { return [] }
        return fault == .none ? endpoints : endpoints.dropLast()
    }

    struct Outcome: Sendable {
        var stats: [String: WebhookReceiver.EndpointStats]
        /// The events that the gateways wrote.
        var written: Int
        var posted: Int
        /// The CPU of the gateways, from the first notification to the last delivery.
        var cpuSeconds: Double
        /// The time for posting alone.
        var postingSeconds: Double
        var residentBytes: Int
    }

    private enum Limits {
        /// The end of the posting, in seconds.
        static let posting = 3600.0
        static let poll = Duration.milliseconds(200)
    }

    func run() async throws -> Outcome {
        let keys = Dictionary(uniqueKeysWithValues: endpoints.map { ($0, WebhookSecret.new()) })
        let plans = keys.map { name, key in
            ReceiverEndpoint.Plan(name: name, keys: [WebhookVerifier(key)].compactMap(\.self))
        }
        let receiver = try await WebhookReceiver.start(.init(endpoints: plans))
        return try await receiver.whileRunning { receiver in
            let shape = shape(receiver, keys)
            return try await RunningFleet.start(shape, gatewayPath: plan.gateway.path).whileRunning { fleet in
                if let broken = endpoints.last.flatMap({ receiver[$0] }) {
                    try await receiver.set(fault, of: broken)
                }
                return try await measure(fleet, receiver)
            }
        }
    }

    private func shape(_ receiver: WebhookReceiver, _ keys: [String: String]) -> FleetShape {
        let webhooks = receiver.endpoints.map { endpoint in
            """
                  - name: \(endpoint.name)
                    url: \(receiver.url(of: endpoint))
                    apps: [\(SimulatedCustomers.bundleID)]
                    types: [\(delivers ? "subscription.*, purchase.*, unknown" : "fraud.suspected")]
                    secrets: [\(keys[endpoint.name] ?? "")]

            """
        }
        return FleetShape(
            gateways: plan.gateways, hasRedis: true, appendFsync: .everysec, hasBalancer: plan.gateways > 1, apple: nil,
            settings: [
                "GATEWAY_WEBHOOKS_ALLOW_PRIVATE_ADDRESSES": "true", "GATEWAY_WEBHOOKS_ALLOW_HTTP": "true",
                "GATEWAY_EVENTS_MAX_COUNT": "\(max(1_000_000, 2 * plan.events))",
            ],
            limits: "    webhooks:\n" + webhooks.joined())
    }
}

// MARK: - Measuring

extension WebhookRun {
    private func measure(_ fleet: RunningFleet, _ receiver: WebhookReceiver) async throws -> Outcome {
        let target = await fleet.target
        let traffic = await notifications(to: target)
        try await waitForEndpoints(fleet)
        let start = await fleet.cpuSeconds
        // Each notification once.
        let posted = try await traffic.post(plan.events, to: target, seconds: Limits.posting)
        let (end, written) = try await settle(fleet, receiver, posted: posted.counts[.ok])
        return Outcome(
            stats: receiver.stats, written: written, posted: posted.counts[.ok],
            cpuSeconds: end - start, postingSeconds: posted.seconds, residentBytes: await fleet.residentBytes)
    }

    /// Waits until all gateways have surveyed all endpoints: an endpoint gets the events from its first survey on.
    private func waitForEndpoints(_ fleet: RunningFleet) async throws {
        let expected = endpoints.count * plan.gateways
        _ = try await LongRun.wait(atMost: .seconds(plan.quiet.seconds), every: Limits.poll) {
            try await fleet.metrics.count { $0.name == "receipt_gateway_webhook_lag_seconds" } >= expected
        }
    }

    private func notifications(to target: LoadTarget) async -> TrafficSource {
        let form = RequestForm(target: target, mode: nil, fields: [], content: .notification)
        let factory = NotificationFactory(pki: .ofFleets, form: form, customers: plan.customers)
        let progress = ProgressLine(unit: "notifications", total: plan.events)
        let notifications = await factory.requests(plan.events, until: .now) { progress.update(done: $0) }
        return .only(.notification, ReceiptPools(notifications: notifications))
    }

    /// Waits until all notifications are applied and the healthy endpoints have every event, or nothing happens any
    /// more.
    /// - Returns: the CPU at the last progress, and the number of events.
    private func settle(
        _ fleet: RunningFleet, _ receiver: WebhookReceiver, posted: Int
    ) async throws -> (cpuSeconds: Double, written: Int) {
        var last = Progress(), cpu = await fleet.cpuSeconds, changed = ContinuousClock.now
        while ContinuousClock.now - changed < .seconds(plan.quiet.seconds) {
            let now = try await progress(fleet, receiver)
            if now != last { (last, cpu, changed) = (now, await fleet.cpuSeconds, .now) }
            if now.applied >= posted, now.distinct.allSatisfy({ $0 >= now.written }) { break }
            try await Task.sleep(for: Limits.poll)
        }
        return (cpu, last.written)
    }

    private struct Progress: Hashable {
        var applied = 0
        var written = 0
        /// Of each healthy endpoint.
        var distinct: [Int] = []
    }

    private func progress(_ fleet: RunningFleet, _ receiver: WebhookReceiver) async throws -> Progress {
        let samples = try await fleet.metrics
        func sum(_ name: String) -> Int { Int(samples.filter { $0.name == name }.map(\.value).reduce(0, +)) }
        return Progress(
            applied: sum("receipt_gateway_notifications_applied_total"), written: sum("receipt_gateway_events_total"),
            distinct: healthy.map { receiver[$0]?.tally.counts.distinct ?? 0 })
    }
}
