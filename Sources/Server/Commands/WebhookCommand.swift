// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Clients
internal import Customers
internal import Receipts
internal import Settings

struct TestWebhookCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "test",
        abstract: "Send a signed test event to a webhook endpoint.",
        usage: "receipt-gateway webhook test --endpoint <name> [--config <file>]",
        discussion: """
            Sends one event that is made up, signed with the endpoint's keys and over the same connection settings as \
            real ones, and shows the answer. It is sent once, and not stored:

              receipt-gateway webhook test --endpoint shop/crm

            Then it shows the public keys, whpk_…, with which a receiver checks signatures of whsk_ keys.

            The command needs the clients file, and no Redis. Run it where the gateways run, so that it has their \
            network.

            Exit status: 0 if the endpoint accepted the event, 1 if it did not, 64 if the command line is wrong, 78 if \
            the configuration is wrong.
            """)

    @Option(help: ArgumentHelp("The endpoint: CLIENT/NAME of the clients file.", valueName: "name"))
    var endpoint: String

    @OptionGroup var options: ConfigurationOptions

    func run() async throws {
        let configuration = try options.load()
        let (access, sender) = try orExit { () throws(ConfigurationProblems) in
            try checkOpenSSL()
            let rules = AccessRules(configuration, try ClientsFile(configuration, at: .now()))
            let sender = try HTTPWebhookSender(
                configuration.webhooks, maximumEndpoints: 1, concurrency: 1, to: "endpoints")
            return (Access(rules), sender)
        }
        let endpoint = try access.webhook(named: endpoint)
        let test = WebhookRequest(testing: endpoint, number: .random(in: .min ... .max), at: .now())
        let result = await WebhookTestResult(of: test, through: sender)
        await sender.shutdown()
        print(result.text(for: endpoint))
        if result.fault != nil { throw ExitCode.failure }
    }
}

struct WebhookTestResult: Hashable, Sendable {
    /// The status of the answer; nil without an answer.
    let status: Int?
    let fault: DeliveryFault?
    let took: Duration
}

extension WebhookTestResult {
    init(of test: WebhookRequest, through sender: any WebhookSender) async {
        let start = ContinuousClock.now
        do throws(DeliveryFault) {
            let reply = try await sender.send(test)
            self.init(status: reply.status, fault: DeliveryFault(status: reply.status), took: start.duration(to: .now))
        } catch {
            self.init(status: nil, fault: error, took: start.duration(to: .now))
        }
    }

    func text(for endpoint: WebhookEndpoint) -> String {
        let answer = status.map { "answered \($0)" } ?? "did not answer", name = endpoint.name
        let time = "after \(took.wholeMilliseconds) ms"
        let outcome =
            fault.map { "\(name) \(answer) \(time) (\($0.rawValue)).\n\($0.advice)" }
            ?? "\(name) accepted the test event: it \(answer) \(time)."
        let keys = endpoint.keys.compactMap(\.publicKey).map { "Its signatures v1a are checked with \($0)" }
        return ([outcome] + keys).joined(separator: "\n")
    }
}

struct WebhookCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "webhook",
        abstract: "List and test the endpoints of webhooks.",
        discussion: """
            `receipt-gateway events` enables an endpoint that answered 410, and repeats events.

            Exit status: 0 for success; see the help of each command.
            """,
        subcommands: [ListWebhooksCommand.self, TestWebhookCommand.self])
}

struct ListWebhooksCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the webhook endpoints with their state.",
        discussion: """
            Shows what `receipt-gateway events endpoints` shows: for each endpoint of the clients file the host, the lag, \
            and the events that are unread, held or dead:

              receipt-gateway webhook list
              receipt-gateway webhook list --format json

            Exit status: 0 for success, 1 if Redis does not answer, 64 if the command line is wrong, 78 if the \
            configuration is wrong or has no Redis.
            """)

    @Option(help: "The output format: text, or one JSON object.")
    var format = OutputFormat.text

    @OptionGroup var options: ConfigurationOptions

    func run() async throws {
        let fleet = try options.fleet(storing: "events")
        try await fleet.useOrExit { try await fleet.showEndpoints(as: format) }
    }
}
