// SPDX-License-Identifier: Apache-2.0

import AppleSimulator
import Foundation
import ReceiptForge
import Testing

@testable import LoadTest

/// Two gateways with one simulated Apple: before the end of `verifyReceipt`, and after it.
struct SameAnswerStage {
    let apple: AppleSimulator
    /// Gets answers about receipts from `verifyReceipt` only.
    let before: RunningGateway
    /// Gets them from the App Store Server API only.
    let after: RunningGateway
    private let key: String

    /// Runs a test with both gateways and a healthy Apple, and stops all of them.
    /// - Parameter more: further settings of `before`.
    static func run(
        before more: [String: String] = [:], _ test: (SameAnswerStage) async throws -> Void
    ) async throws {
        let folder = try ScratchFolder(), key = try await APIKey()
        let configuration = AppleSimulator.Configuration(pki: Sample.pki)
        let root = try folder.write(configuration.transactionPKI.root.pem, to: "transaction-root.pem")
        try await withApple(configuration) { apple in
            let urls = (apple.productionURL, apple.sandboxURL)
            let settings = try settings(apple, transactionRoot: root, key, folder)
            try await withGateway(askingAt: urls, settings("verify_receipt").merging(more) { $1 }) { before in
                try await withGateway(askingAt: urls, settings("server_api")) { after in
                    try await test(SameAnswerStage(apple: apple, before: before, after: after, key: key.text))
                }
            }
        }
    }

    /// Returns the settings of a gateway by its interface for receipts.
    private static func settings(
        _ apple: AppleSimulator, transactionRoot: String, _ key: APIKey, _ folder: ScratchFolder
    ) throws -> (_ upstream: String) -> [String: String] {
        let receiptRoot = try folder.write(Sample.pki.rootPEM, to: "root.pem")
        let serverAPI = try APIKeyFile(ForgedAPIKey(seed: Sample.pki.seed), folder: folder.url.path)
        let clients = """
            clients:
              - name: shop-backend
                apps: "*"
                apple: [read, write]
                may: [purge]
                keys:
            \(key.lines)
            \(serverAPI.clientsFileLines)
            """
        let usual = FleetShape.settings(
            root: receiptRoot, transactionRoot, apple: apple, redisURL: nil, hasServerAPI: true)
        let common =
            APIKey.pepper + usual + [
                "GATEWAY_CLIENTS_FILE": try folder.write(clients, to: "clients.yaml"),
                "GATEWAY_TRUST_INTERMEDIATES": try folder.write(Sample.pki.intermediate.pem, to: "intermediates.pem"),
                // A busy machine must not look like a fault.
                "GATEWAY_APPLE_SOFT_TIMEOUT": "20s",
            ]
        return { common + ["GATEWAY_APPLE_RECEIPT_UPSTREAM": $0] }
    }
}

extension SameAnswerStage {
    /// The answers of both gateways to one request.
    struct Answers {
        let before: HTTPAnswer, after: HTTPAnswer

        /// True if each interface gave its answer, and no other source did.
        var areApples: Bool {
            before.headers["gateway-source"] == "apple" && before.headers["gateway-degraded"] == nil
                && after.headers["gateway-source"] == "app_store_server_api"
                && after.headers["gateway-degraded"] == nil
        }

        func differences() throws -> [AnswerDifference] {
            try AnswerDifference.all(between: before.json, and: after.json)
        }
    }

    /// Sends a receipt in Apple's form to both.
    func verifyReceipt(
        _ receipt: String, excludesOld: Bool = false, password: String? = nil
    ) async throws -> Answers {
        var body: [String: Any] = ["receipt-data": receipt, "exclude-old-transactions": excludesOld]
        body["password"] = password
        return try await post(body, to: "/verifyReceipt")
    }

    /// Requests a verdict from both, by default Apple's.
    func verify(_ receipt: String, mode: String = "apple") async throws -> Answers {
        try await post(["receipt": receipt, "mode": mode], to: "/v1/verify")
    }

    private func post(_ body: [String: Any], to path: String) async throws -> Answers {
        let answers = Answers(
            before: try await before.post(body, to: path, key: key),
            after: try await after.post(body, to: path, key: key))
        #expect(answers.before.status == 200 && answers.after.status == 200)
        return answers
    }

    /// Makes both gateways send requests about these transactions again.
    func forget(_ transactionIDs: some Sequence<String>) async throws {
        for id in transactionIDs {
            for gateway in [before, after] {
                let answer = try await gateway.purge(id, key: key)
                #expect(answer.status < 300)
            }
        }
    }

    /// Informs Apple that the app delivered a consumable.
    func finish(_ transactionID: String) async throws {
        let path = "/v1/apple/\(Sample.bundleID)/production/inApps/v1/transactions/\(transactionID)/finish"
        let answer = try await after.post(Data(), to: path, key: key)
        #expect(answer.status == 200)
    }
}
