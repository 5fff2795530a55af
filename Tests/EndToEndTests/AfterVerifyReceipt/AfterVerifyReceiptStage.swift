// SPDX-License-Identifier: Apache-2.0

import AppleSimulator
import Foundation
import ReceiptForge
import Testing

@testable import LoadTest

/// A gateway with a shared secret, and a key of the App Store Server API or none. The simulated Apple knows the customers
/// of the first receipts, whose subscriptions were renewed.
struct AfterVerifyReceiptStage {
    private static let customers = 8

    let apple: AppleSimulator
    private let gateway: RunningGateway
    private let key: String

    /// An answer in Apple's form.
    struct FormAnswer: CustomStringConvertible {
        let source: String?
        let degraded: String?
        let transactionIDs: [String]
        /// True if the last period has not ended.
        let isActive: Bool

        var description: String { "from \(source ?? "?"), degraded \(degraded ?? "no"), \(transactionIDs)" }
    }

    func verifyReceipt(_ receipt: String) async throws -> FormAnswer {
        let answer = try await gateway.post(["receipt-data": receipt], to: "/verifyReceipt", key: key)
        let json = try answer.json
        #expect(answer.status == 200 && json["status"] as? Int == 0)
        let inApp = (json["receipt"] as? [String: Any])?["in_app"] as? [[String: Any]] ?? []
        let latest = json["latest_receipt_info"] as? [[String: Any]] ?? inApp
        let now = Date().timeIntervalSince1970 * 1000
        return FormAnswer(
            source: answer.headers["gateway-source"], degraded: answer.headers["gateway-degraded"],
            transactionIDs: inApp.compactMap { $0["transaction_id"] as? String },
            isActive: latest.contains { Double($0["expires_date_ms"] as? String ?? "") ?? 0 > now })
    }

    func verify(_ receipt: String) async throws -> Verdict {
        try await Verdict(gateway.verify(receipt, key: key).json)
    }

    /// Replaces the faults of Apple.
    func play(_ faults: String...) throws {
        let list = faults.joined(separator: ", ")
        apple.play(try Scenario(yaml: "stories: {default: renewed}\nfaults: [\(list)]"))
    }

    /// Lets the gateway learn that verifyReceipt ended yesterday.
    func announceEnd() async throws {
        try play("{api: verify_receipt, sunset_in: -1d}")
        #expect(try await verifyReceipt(Sample.receipt(0)).source == "apple")
        #expect(try await ramp() == 1)
    }

    /// The share of receipts that has moved from the production endpoint.
    func ramp() async throws -> Double? {
        try await Scrape(gateway)[#"sunset_ramp_ratio{api="verify_receipt",environment="production"}"#]
    }

    func answers(from source: String) async throws -> Double? {
        try await Scrape(gateway)[#"receipt_answers_total{source="\#(source)"}"#]
    }

    func appWithoutKey() async throws -> Double? {
        try await Scrape(gateway)[#"app_without_server_api_key{bundle_id="\#(Sample.bundleID)"}"#]
    }

    /// The numbers of requests to each interface.
    var calls: (verifyReceipt: Int, serverAPI: Int) {
        let stats = apple.stats, outcomes = stats.serverApi.calls.values.flatMap(\.values).flatMap(\.values)
        return (stats.production + stats.sandbox, outcomes.reduce(0, +))
    }
}

extension AfterVerifyReceiptStage {
    /// Runs a test with the gateway, and stops it.
    static func run(hasKey: Bool = true, _ test: (AfterVerifyReceiptStage) async throws -> Void) async throws {
        let folder = try ScratchFolder(), apiKey = try await APIKey()
        var configuration = AppleSimulator.Configuration(pki: Sample.pki)
        configuration.hasServerAPIPorts = true
        configuration.scenario = try Scenario(yaml: "stories: {default: renewed}")
        try await withApple(configuration) { apple in
            try await apple.register((0..<customers).map { Sample.receipt($0) })
            let serverAPI = try APIKeyFile(ForgedAPIKey(seed: Sample.pki.seed), folder: folder.url.path)
            let client = "clients:\n  - name: shop-backend\n    apps: [\(Sample.bundleID)]\n    keys:\n"
            let file = try folder.write(
                client + apiKey.lines + (hasKey ? serverAPI.clientsFileLines : ""), to: "clients.yaml")
            let settings = FleetShape.settings(
                root: try folder.write(Sample.pki.rootPEM, to: "root.pem"),
                try folder.write(configuration.transactionPKI.root.pem, to: "jws-root.pem"), apple: apple, redisURL: nil
            )
            let own = [
                "GATEWAY_APPLE_SHARED_SECRET": Sample.secret, "GATEWAY_CLIENTS_FILE": file,
                // A busy machine must not look like a fault.
                "GATEWAY_APPLE_SOFT_TIMEOUT": "20s",
            ]
            let gateway = try await RunningGateway(APIKey.pepper + settings + own)
            try await test(AfterVerifyReceiptStage(apple: apple, gateway: gateway, key: apiKey.text))
            #expect(await gateway.stop() == 0)
        }
    }
}
