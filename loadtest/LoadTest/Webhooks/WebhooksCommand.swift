// SPDX-License-Identifier: Apache-2.0

internal import AppleSimulator
internal import ArgumentParser

struct WebhooksCommand: LongRunCommand {
    static let configuration = CommandConfiguration(
        commandName: "webhooks",
        abstract: "Measure the delivery of events to several endpoints, one of them broken.",
        usage: "receipt-loadtest webhooks [<options>]",
        discussion: """
            Starts gateways with Redis on free ports of this machine and endpoints in this program, posts \
            notifications of Apple as fast as the gateways store them, and waits until the healthy endpoints have \
            received every event. Then it compares, for each endpoint: lost events, duplicates, the order within each \
            original transaction, and signatures. A first run without deliveries measures the CPU of storing alone, so \
            that the rest is the CPU of deliveries.

            Examples:

              receipt-loadtest webhooks
              receipt-loadtest webhooks --events 5000 --fault down
              receipt-loadtest webhooks --gateways 2 --fault '{slow: 5}' --format json

            redis-server and, for more than one gateway, haproxy must be installed (.ci/deps bench). Load, gateways \
            and endpoints share this machine.

            Exit status: 0 if the healthy endpoints received everything in order, 99 if not, 64 for wrong usage, 130 \
            after ^C.
            """)

    @OptionGroup var gateway: GatewayProgram

    @Option(help: .value("count", "Notifications, each of which makes one event."))
    var events = 100_000

    @Option(help: .value("count", "Customers that the notifications are about, in turn."))
    var customers = 5000

    @Option(help: .value("count", "Endpoints, the broken one included."))
    var endpoints = 3

    @Option(
        help: .value(
            "fault",
            "The last endpoint's fault, in the words of 'receiver': down, gone, redirect, short, long, endless, "
                + "'{slow: 5}', '{status: 503}'; none for none."))
    var fault = "{status: 503}"

    @Option(help: .value("count", "Gateways; more than one are behind HAProxy."))
    var gateways = 1

    @Option(help: .value("time", "The end of the run if no delivery arrives for so long."))
    var quiet = TimeSpan(seconds: 30)

    @Flag(help: "Skip the run without deliveries; the CPU of a delivery is not measured then.")
    var skipBaseline = false

    @Option(help: "How to print the results.")
    var format = ReportFormat.text

    func validate() throws {
        try check("--events", events, in: 1...1_000_000)
        try check("--customers", customers, in: 1...100_000)
        try check("--endpoints", endpoints, in: 1...10)
        try check("--gateways", gateways, in: 1...10)
        try check((1...600).contains(quiet.seconds), "--quiet takes from 1s to 10m.")
        let fault: ReceiverFault
        do { fault = try receiverFault } catch { throw ValidationError("--fault: \(error)") }
        try check(fault == .none || endpoints > 1, "--endpoints takes at least 2 with a fault, which the last one has.")
    }

    func measure() async throws -> Int32 {
        let fault = try receiverFault
        let baseline = skipBaseline ? nil : try await WebhookRun(plan: self, endpoints: ["baseline"]).run()
        let run = WebhookRun(
            plan: self, endpoints: (1...endpoints).map { "endpoint-\($0)" }, fault: fault, delivers: true)
        return try await run.run().report(run, baseline: baseline).written(as: format)
    }

    private var receiverFault: ReceiverFault {
        get throws(ScenarioError) {
            guard let value = try YAMLValue.reading(fault, maximumBytes: 1000, as: "fault") else { return .none }
            return try ReceiverFault(value)
        }
    }
}
