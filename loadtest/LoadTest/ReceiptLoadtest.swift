// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser

@main
struct ReceiptLoadtest: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "receipt-loadtest",
        abstract: "Load-test receipt verification, make receipts for it, and simulate Apple.",
        discussion: """
            Load on a running gateway, and the highest rate that meets an objective:

              receipt-loadtest http http://127.0.0.1:8080 -R 5000 -d 30s \\
                --threshold 'p99<25ms'
              receipt-loadtest search http://127.0.0.1:8080 --slo 'p99<25ms,errors<0.1%'

            A whole fleet under load while something happens to it, with a verdict:

              receipt-loadtest scenario loadtest/scenarios/load/redis-outage.yaml

            The figures of the gateway beside a bare handler, nginx and Varnish:

              receipt-loadtest bench

            How many receipts per second one core verifies, beside what the cryptography alone allows:

              receipt-loadtest verify

            Receipts to try a gateway with, genuine and faulty, and the root to trust:

              receipt-loadtest corpus --out receipts
              GATEWAY_TRUST_ROOTS=receipts/root.pem receipt-gateway serve

            Apple's servers for them, on this machine, healthy or not:

              receipt-loadtest apple --pki receipts \\
                --scenario loadtest/scenarios/outage-2020-01-24.yaml

            Endpoints for webhooks, which check them, and the cost of delivery:

              receipt-loadtest receiver --endpoint orders
              receipt-loadtest webhooks --events 100000 --fault down

            Verifications that are deferred while Apple is away, and done after its return:

              receipt-loadtest deferred --outage 5m

            A page of what a load run found, and in what two runs differ:

              receipt-loadtest report result.json
              receipt-loadtest compare before.json after.json
            """,
        version: "0.1.0",
        subcommands: [
            HTTPCommand.self, SearchCommand.self, ReportCommand.self, CompareCommand.self, ScenarioCommand.self,
            BenchCommand.self, VerifyCommand.self, CorpusCommand.self, AppleCommand.self,
            ReceiverCommand.self, WebhooksCommand.self, DeferredCommand.self, CeilingCommand.self,
        ])
}
