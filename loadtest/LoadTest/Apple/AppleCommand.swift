// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import AppleSimulator
internal import ArgumentParser
internal import ReceiptForge
internal import UnixSignals

struct AppleCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "apple",
        abstract: "Simulate Apple's verifyReceipt servers on this machine, with faults from a scenario.",
        discussion: """
            Two servers listen on the loopback interface, one for each environment. When they do, a line for each says \
            where; 0 is any free port:

              production http://127.0.0.1:9001/verifyReceipt
              sandbox http://127.0.0.1:9002/verifyReceipt

            They answer as Apple does to receipts of the corpus in --pki, and to Apple's own; `latest_receipt` is \
            signed by that corpus's authority. A scenario (loadtest/scenarios has examples, with every name explained \
            in all.yaml) says what Apple knows beyond the receipts, and what goes wrong when. On both ports, for tests:

              PUT /scenario        plays another scenario from its beginning
              GET /stats           {"distinct_receipts": n, "production": n, "sandbox": n}
              GET /stats/details   what became of the calls, and how many at once
              DELETE /stats        counts from zero

            Example, a gateway whose Apple has a bad day:

              receipt-loadtest corpus --out receipts
              receipt-loadtest apple --pki receipts \\
                --production-port 9001 --sandbox-port 9002 \\
                --scenario loadtest/scenarios/outage-2020-01-24.yaml &
              export GATEWAY_TRUST_ROOTS=receipts/root.pem
              export GATEWAY_APPLE_PRODUCTION_URL=http://127.0.0.1:9001/verifyReceipt
              export GATEWAY_APPLE_SANDBOX_URL=http://127.0.0.1:9002/verifyReceipt
              receipt-gateway serve

            It ends on SIGINT (^C) and SIGTERM.
            """)

    @Option(help: .value("port", "Where production listens; 0 is any free port."))
    var productionPort = 0

    @Option(help: .value("port", "Where the sandbox listens; 0 is any free port."))
    var sandboxPort = 0

    @Option(
        help: .value(
            "folder",
            "Serve HTTPS for localhost and 127.0.0.1: with server.pem and server.key in this folder, or "
                + "with new ones. New ones are written there, and ca.pem for clients to trust."))
    var tls: String?

    @Option(help: .value("file", "What goes wrong, in YAML; nothing does without it."))
    var scenario: String?

    @Option(
        help: .value(
            "folder", "Folder that 'receipt-loadtest corpus' wrote; without it, the authority of its default seed."))
    var pki: String?

    func validate() throws {
        for (name, port) in [("--production-port", productionPort), ("--sandbox-port", sandboxPort)] {
            try check((0...65_535).contains(port), "\(name) takes a number from 0 to 65535, not \(port).")
        }
    }

    func run() async throws {
        // Trapped before anything listens, so that a reader of the lines can end the program.
        let signals = await UnixSignalsSequence(trapping: .sigterm, .sigint)
        let apple = try await start()
        StandardOutput.write("production \(apple.productionURL)\nsandbox \(apple.sandboxURL)\n")
        for await _ in signals { break }
        await apple.stop()
    }

    /// Returns the running servers that the options describe.
    func start() async throws -> AppleSimulator {
        var configuration = AppleSimulator.Configuration(pki: try ForgedPKI(corpus: pki))
        configuration.productionPort = productionPort
        configuration.sandboxPort = sandboxPort
        configuration.scenario = try scenario.map(Scenario.read) ?? .healthy
        configuration.tls = try tls.map { try TLSFolder(path: $0).identity() }
        return try await AppleSimulator.start(configuration)
    }
}
