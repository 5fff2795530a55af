// SPDX-License-Identifier: Apache-2.0

internal import AppleSimulator
internal import ArgumentParser
internal import ReceiptForge

struct AppleCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "apple",
        abstract: "Simulate Apple's servers (verifyReceipt, Server API, notifications) on this machine, with faults.",
        usage: "receipt-loadtest apple [<options>]",
        discussion: """
            Two servers listen on the loopback interface, one for each environment. When they do, a line for each says \
            where; 0 is any free port:

              production http://127.0.0.1:9001/verifyReceipt
              sandbox http://127.0.0.1:9002/verifyReceipt

            They answer as Apple does to receipts of the corpus in --pki, and to Apple's own; `latest_receipt` is \
            signed by that corpus's authority. A scenario (loadtest/scenarios has examples, with every name explained \
            in all.yaml) says what Apple knows beyond the receipts, and what goes wrong when.

            The same ports serve the App Store Server API below /inApps/, about the same customers. Its signed data is \
            below jws-root.pem of the corpus. Its key is AuthKey_ID.p8 there, and its lines for a gateway's \
            clients file are printed. A customer is known once a receipt of theirs was verified here, or by:

              PUT /accounts        {"receipts": [base64], "signed_transactions": [JWS],
                                   "answers": [recorded answers of verifyReceipt]}
              PUT /customers       {"bundle_id": text, "environment": "production",
                                   "count": n, "first_transaction_id": n}
              --customers n        the same; customer i, counted from 0, has the original
                                   transaction ID 2000001000000000 + 1000000 * i

            Server notifications are sent to an HTTP server on this machine. A request changes a customer and notifies \
            the app; all answers agree with it:

              PUT /notifications   {"bundle_id": text, "environment": "production",
                                   "url": text, "version": 2, "time_scale": 1}
              POST /notifications  {"bundle_id": text, "environment": "production",
                                   "type": "DID_RENEW", "subtype": text,
                                   "original_transaction_id" or "transaction_id": text,
                                   or "count": n, "first_customer": n}
                                   and "deliver": false for a lost notification

            On both ports, for tests:

              PUT /scenario        plays another scenario from its beginning
              GET /stats           {"distinct_receipts": n, "production": n, "sandbox": n,
                                   "notifications": attempts by their results,
                                   "server_api": calls by operation, the most in an hour}
              GET /stats/details   what became of the calls, and how many at once
              DELETE /stats        counts from zero

            Example, a gateway whose Apple has a bad day:

              receipt-loadtest corpus --out receipts
              receipt-loadtest apple --pki receipts \\
                --production-port 9001 --sandbox-port 9002 \\
                --scenario loadtest/scenarios/outage-2020-01-24.yaml &
              roots=receipts/root.pem,receipts/jws-root.pem=Sandbox+Production
              export GATEWAY_TRUST_ROOTS=$roots
              export GATEWAY_APPLE_PRODUCTION_URL=http://127.0.0.1:9001/verifyReceipt
              export GATEWAY_APPLE_SANDBOX_URL=http://127.0.0.1:9002/verifyReceipt
              export GATEWAY_APPLE_SERVER_API_PRODUCTION_URL=http://127.0.0.1:9001
              export GATEWAY_APPLE_SERVER_API_SANDBOX_URL=http://127.0.0.1:9002
              receipt-gateway serve

            It ends on SIGINT (^C) and SIGTERM.
            """)

    @Option(help: .value("port", "Where production listens; 0 is any free port."))
    var productionPort = 0

    @Option(help: .value("port", "Where the sandbox listens; 0 is any free port."))
    var sandboxPort = 0

    @OptionGroup var tls: TLSOption

    @Option(help: .value("file", "What goes wrong, in YAML; nothing does without it."))
    var scenario: String?

    @Option(
        help: .value(
            "folder", "Folder that 'receipt-loadtest corpus' wrote; without it, the authority of its default seed."))
    var pki: String?

    @Option(help: .value("number", "Customers of the Server API whose transaction IDs are known in advance."))
    var customers = 0

    @Option(help: .value("bundle ID", "The app of those customers."))
    var customersApp = "com.example.shop"

    @Option(help: .value("environment", "Where those customers are: production or sandbox."))
    var customersEnvironment = Endpoint.production

    @Option(
        help: .value(
            "factor",
            "Apple's waits before a notification is sent again, times this; 0.0001 makes an hour 0.36 seconds."))
    var notificationTimeScale = 1.0

    func validate() throws {
        try check("--notification-time-scale", notificationTimeScale, in: 0...1)
        try check("--customers", customers, in: 0...Self.maximumCustomers)
        try check("--production-port", productionPort, in: 0...65_535)
        try check("--sandbox-port", sandboxPort, in: 0...65_535)
    }

    func run() async throws {
        try await Interruptible.serve {
            let apple = try await start(), key = try pki.map { try APIKeyFile(folder: $0) }
            let urls = "production \(apple.productionURL)\nsandbox \(apple.sandboxURL)\n"
            return (apple, urls + (key?.clientsFileLines ?? ""))
        }
    }

    func start() async throws -> AppleSimulator {
        var configuration = AppleSimulator.Configuration(pki: try ForgedPKI(corpus: pki))
        configuration.productionPort = productionPort
        configuration.sandboxPort = sandboxPort
        configuration.scenario = try scenario.map(Scenario.read) ?? .healthy
        configuration.notificationTimeScale = notificationTimeScale
        configuration.tls = try tls.folder?.identity()
        if let pki { configuration.transactionPKI = try TransactionPKI(corpusDirectory: pki) }
        let apple = try await AppleSimulator.start(configuration)
        if customers > 0 { try apple.addCustomers(customers, ofApp: customersApp, at: customersEnvironment) }
        return apple
    }

    private static let maximumCustomers = 10_000_000
}

extension Endpoint: ExpressibleByArgument {}
