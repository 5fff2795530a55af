// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Foundation

struct ReceiverCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "receiver",
        abstract: "Receive the gateway's webhooks on this machine, check them, and behave badly on request.",
        usage: "receipt-loadtest receiver [<options>]",
        discussion: """
            Each endpoint listens at a port of its own on the loopback interface. When all do, a line for each says \
            where, with the key that must sign, and a last line where control requests go:

              orders http://127.0.0.1:9301/orders whsec_…
              control http://127.0.0.1:9300

            Signatures are verified by the rules of Standard Webhooks, and the CloudEvents attributes are compared \
            with the event. A gateway on this machine needs gateway.webhooks.allow_private_addresses, and without \
            --tls also gateway.webhooks.allow_http.

              GET /stats     counts by endpoint: distinct events, duplicates, order
                             violations, gaps, wrong signatures, followed redirects;
                             order_digest is equal at two endpoints that received
                             the same events of each original transaction in the
                             same order
              DELETE /stats  counts from zero
              PUT /control   {"endpoint": name, "fault": fault, "requests": n}
                             Faults: "none", "down" (connections are refused),
                             {"slow": seconds}, {"status": 503, "retry_after":
                             seconds}, "gone" (410), "redirect"; and 200 that lies:
                             "short" (the connection ends early), "long" (more
                             bytes than Content-Length), "endless". Without
                             "requests" until the next change

            Example, an endpoint that is overloaded for ten requests:

              receipt-loadtest receiver --control-port 9300 --endpoint orders &
              curl -X PUT http://127.0.0.1:9300/control \\
                -d '{"endpoint": "orders", "fault": {"status": 503}, "requests": 10}'

            It ends on SIGINT (^C) and SIGTERM.
            """)

    @Option(
        name: .customLong("endpoint"),
        help: .value("name", "An endpoint, as NAME or NAME:PORT; repeatable (default: events)."))
    var chosen: [String] = []

    @Option(
        name: .customLong("key"),
        help: .value("key", "A key of all endpoints, whsec_… or whpk_…; repeatable (default: a new one for each)."))
    var keys: [String] = []

    @Option(help: .value("port", "Where control requests go; 0 is any free port."))
    var controlPort = 0

    @Flag(help: "Receive Apple's own bodies (stream: relay), in place of events.")
    var relay = false

    @OptionGroup var tls: TLSOption

    @Flag(help: "Serve HTTPS with a certificate that expired in 2017. The folder of --tls gets ca.pem.")
    var expired = false

    func validate() throws {
        try check("--control-port", controlPort, in: 0...65_535)
        try check(!expired || tls.folder != nil, "--expired needs --tls.")
        try check(keys.allSatisfy { WebhookVerifier($0) != nil }, "--key takes whsec_… or whpk_… in base64.")
        let names = try endpoints.map(\.name)
        try check(Set(names).count == names.count, "--endpoint names an endpoint twice.")
    }

    func run() async throws {
        try await Interruptible.serve {
            let (receiver, keys) = try await start()
            let lines = receiver.endpoints.map { endpoint in
                "\(endpoint.name) \(receiver.url(of: endpoint)) \(keys[endpoint.name]?.joined(separator: " ") ?? "")\n"
            }
            return (receiver, lines.joined() + "control \(receiver.controlURL)\n")
        }
    }

    /// Returns the running receiver that the options describe, and the keys by the names of endpoints.
    func start() async throws -> (WebhookReceiver, keys: [String: [String]]) {
        var plans = try endpoints, texts: [String: [String]] = [:]
        for index in plans.indices {
            let keys = keys.isEmpty ? [WebhookSecret.new()] : keys
            texts[plans[index].name] = keys
            plans[index].keys = keys.compactMap(WebhookVerifier.init)
        }
        let identity = try expired ? tls.folder?.expiredIdentity() : tls.folder?.identity()
        let plan = WebhookReceiver.Plan(endpoints: plans, controlPort: controlPort, tls: identity)
        return (try await WebhookReceiver.start(plan), texts)
    }

    private var endpoints: [ReceiverEndpoint.Plan] {
        get throws {
            try (chosen.isEmpty ? ["events"] : chosen).map { text in
                let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
                let port = parts.count == 2 ? Int(parts[1]) ?? -1 : 0
                let isName = parts[0].wholeMatch(of: /[a-z0-9_-]{1,64}/) != nil
                try check(
                    isName && (0...65_535).contains(port),
                    "--endpoint takes NAME or NAME:PORT with a name of a-z, 0-9, - and _, not '\(text)'.")
                return ReceiverEndpoint.Plan(
                    name: String(parts[0]), port: port, content: relay ? .relay : .events)
            }
        }
    }
}

enum WebhookSecret {
    /// Returns `whsec_` with base64 of 32 random bytes.
    static func new() -> String {
        "whsec_" + Data((0..<32).map { _ in UInt8.random(in: .min ... .max) }).base64EncodedString()
    }
}
