// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Clients
internal import Customers
internal import Gateway
internal import JSON
internal import Receipts
internal import RedisStore
internal import Telemetry

struct EndpointsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "endpoints",
        abstract: "Show the state of each webhook endpoint, or enable one.",
        usage: """
            receipt-gateway events endpoints [--enable <name>] [--format <format>]
              [--config <file>]
            """,
        discussion: """
            Shows for each endpoint of the clients file: the host, the stream, the number of apps, the time of the \
            newest event that was read for it, the lag (the age of its oldest undelivered event), the events not \
            read yet, those that wait for another attempt (held), the dead ones, since when it is disabled, and the \
            parts that a node works on now:

              receipt-gateway events endpoints
              receipt-gateway events endpoints --enable shop/crm

            --enable ends the state of an endpoint that answered 410: its events follow in order.

            Exit status: 0 for success, 1 if Redis does not answer, 64 if the command line is wrong, 78 if the \
            configuration is wrong or has no Redis.
            """)

    @Option(help: ArgumentHelp("Enable this endpoint after it answered 410.", valueName: "name"))
    var enable: String?

    @Option(help: "The output format: text, or one JSON object.")
    var format = OutputFormat.text

    @OptionGroup var options: ConfigurationOptions

    func run() async throws {
        let fleet = try options.fleet(storing: "events")
        let access = fleet.access.now, deliveries = fleet.store.deliveries
        let enabled = try enable.map { try access.webhook(named: $0) }
        try await fleet.useOrExit {
            if let enabled {
                for queue in enabled.queues { try await deliveries.enable(queue) }
                return print("\(enabled.name) is enabled.")
            }
            try await fleet.showEndpoints(as: format)
        }
    }
}

extension FleetConnection {
    /// Prints the state of each endpoint of the clients file.
    func showEndpoints(as format: OutputFormat) async throws(StoreUnreachable) {
        var states: [EndpointState] = []
        for endpoint in access.now.rules.webhooks.sorted(by: { $0.name < $1.name }) {
            let surveys = try await store.deliveries.survey(endpoint.queues)
            states.append(EndpointState(endpoint: endpoint, surveys: surveys))
        }
        print(format == .json ? EndpointState.json(states) : EndpointState.text(states, at: .now()))
    }
}

/// The state of an endpoint, of all its queues together.
struct EndpointState: Sendable {
    let endpoint: WebhookEndpoint
    let surveys: [DeliverySurvey]

    private var all: EndpointSurvey { EndpointSurvey(of: endpoint.name, in: surveys) }
    /// The time of writing of the newest event that was read.
    private var position: Timestamp? { surveys.compactMap(\.position).filter { $0 != .start }.max()?.time }
    private var leased: Int { surveys.count(where: \.isLeased) }

    /// The host and port. The rest of a URL may contain a secret.
    var host: String {
        let rest = endpoint.url.firstRange(of: "://").map { endpoint.url[$0.upperBound...] } ?? endpoint.url[...]
        return String(rest.prefix { !"/?#".contains($0) }).printable()
    }

    static func text(_ states: [EndpointState], at now: Timestamp) -> String {
        guard !states.isEmpty else { return "The clients file has no webhooks." }
        let header = [
            "ENDPOINT", "HOST", "STREAM", "APPS", "LAST READ", "LAG", "UNREAD", "HELD", "DEAD", "DISABLED", "LEASED",
        ]
        return TextTable(header: header, rows: states.map { $0.row(at: now) }).text
    }

    private func row(at now: Timestamp) -> [String] {
        [
            endpoint.name, host, endpoint.stream.rawValue, "\(endpoint.apps.count)",
            position.map { "\(max(.zero, $0.duration(to: now)).rough) ago" } ?? "never", (all.lag ?? .zero).rough,
            "\(all.unread)", "\(all.held)", "\(all.dead)", all.disabledAt.map { "since \($0)" } ?? "no",
            "\(leased) of \(surveys.count)",
        ]
    }

    /// `{"endpoints": [{"name", "host", "stream", "apps", "last_read", "lag_seconds", …}]}`
    static func json(_ states: [EndpointState]) -> String {
        let json = JSONWriter.object { $0.objects("endpoints", of: states) { $1.write(&$0) } }
        return String(decoding: json, as: UTF8.self)
    }

    private func write(_ json: inout JSONWriter) {
        json.member("name", endpoint.name)
        json.member("host", host)
        json.member("stream", endpoint.stream.rawValue)
        json.strings("apps", endpoint.apps.sorted())
        json.member("last_read", orNull: position?.description)
        json.member("lag_seconds", (all.lag ?? .zero).components.seconds)
        json.member("unread", Int64(clamping: all.unread))
        json.member("held", all.held)
        json.member("dead", all.dead)
        json.member("disabled_at", orNull: all.disabledAt?.description)
        json.member("queues", surveys.count)
        json.member("leased", leased)
    }
}

extension Duration {
    /// The span in its largest unit: `3d`, `5h`, `12m`, `40s`.
    fileprivate var rough: String {
        let seconds = components.seconds
        let units: [(Int64, String)] = [(86_400, "d"), (3600, "h"), (60, "m")]
        return units.first { seconds >= $0.0 }.map { "\(seconds / $0.0)\($0.1)" } ?? "\(seconds)s"
    }
}
