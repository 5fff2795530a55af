// SPDX-License-Identifier: Apache-2.0

import Foundation
import LoopbackPorts
import ReceiptForge
import Testing
import TestSupport

@testable import LoadTest

/// Apple's own Python library against `receipt-loadtest apple`: the proof that the simulator behaves as Apple does, and
/// that a gateway between both changes nothing for the library. And against a gateway that signs what the library signs.
@Suite(.enabled(if: AppleLibrary.isInstalled, "Apple's Python library is missing: .ci/deps test installs it"))
struct AppleLibraryTests {
    @Test(.timeLimit(.patient))
    func `Apple's library calls every method, verifies every signature, and meets every documented error`() async throws
    {
        try await Self.withApple { apple in
            let outcome = try await AppleLibrary.check(try apple.settings())
            #expect(try Self.passed(outcome) > 170)
            Self.expectEveryMethod(in: outcome)
        }
    }

    @Test(.timeLimit(.patient))
    func `Apple's library calls every method through the proxy of a gateway`() async throws {
        try await Self.withApple { apple in
            let key = try await APIKey(), bundleID = LibraryCustomer.bundleID
            let clients = try apple.folder.write(
                """
                clients:
                  - name: library
                    apps: [\(bundleID)]
                    apple: [read, write, mass, commerce]
                    keys:
                \(key.lines)
                \(try apple.keyFile().clientsFileLines)
                """, to: "clients.yaml")
            let settings = [
                "GATEWAY_CLIENTS_FILE": clients,
                "GATEWAY_TRUST_ROOTS":
                    "\(apple.corpus)/root.pem,\(apple.corpus)/jws-root.pem=Sandbox+Production",
                "GATEWAY_APPLE_PRODUCTION_URL": apple.url(0) + "/verifyReceipt",
                "GATEWAY_APPLE_SANDBOX_URL": apple.url(1) + "/verifyReceipt",
                "GATEWAY_APPLE_SERVER_API_PRODUCTION_URL": apple.url(0),
                "GATEWAY_APPLE_SERVER_API_SANDBOX_URL": apple.url(1),
                // Many histories within a minute.
                "GATEWAY_APPLE_SERVER_API_LOOKUP_SHARE": "1",
            ]
            let gateway = try await RunningGateway(settings.merging(APIKey.pepper) { $1 })
            let base = "http://127.0.0.1:\(gateway.dataPort)/v1/apple/\(bundleID)"
            let proxy = [
                "Production": base + "/production", "Sandbox": base + "/sandbox/", "api_key": key.text,
            ]
            let outcome = try await AppleLibrary.check(try apple.settings(["proxy": proxy]))
            #expect(try Self.passed(outcome) > 150)
            Self.expectEveryMethod(in: outcome)
            #expect(await gateway.stop() == 0)
        }
    }

    @Test(.timeLimit(.patient))
    func `a gateway signs for StoreKit what Apple's library signs`() async throws {
        let folder = try ScratchFolder(), key = try await APIKey(), bundleID = LibraryCustomer.bundleID
        let ofApple = ForgedAPIKey(seed: CorpusCommand.defaultSeed), product = "\(bundleID).monthly"
        let serverAPI = try APIKeyFile(ofApple, folder: folder.url.path)
        let clients = try folder.write(
            """
            clients:
              - name: library
                apps: [\(bundleID)]
                may: [sign]
                signatures:
                  \(bundleID):
                    promotional_offers: {\(product): [comeback]}
                    introductory_offers: [\(product)]
                    advanced_commerce: [course-1, course-2]
                keys:
            \(key.lines)
            \(serverAPI.clientsFileLines)
            """, to: "clients.yaml")
        let gateway = try await RunningGateway(["GATEWAY_CLIENTS_FILE": clients].merging(APIKey.pepper) { $1 })
        let settings = [
            "gateway": "http://127.0.0.1:\(gateway.dataPort)", "api_key": key.text, "bundle_id": bundleID,
            "key_id": ofApple.keyID, "issuer_id": ofApple.issuerID, "private_key_file": serverAPI.path,
            "product_id": product, "offer_identifier": "comeback",
        ]
        let file = try folder.write(String(decoding: Data(json: settings), as: UTF8.self), to: "settings.json")
        let checks = try Self.passed(try await AppleLibrary.check(file, with: "signatures.py"))
        #expect(checks == 10)
        #expect(await gateway.stop() == 0)
    }

    /// The simulated Apple, and what a client of it must know.
    private struct Apple {
        let folder: ScratchFolder
        let corpus: String
        let ports: [Int]
        let key = ForgedAPIKey(seed: CorpusCommand.defaultSeed)

        func url(_ index: Int) -> String { "http://127.0.0.1:\(ports[index])" }

        func keyFile() throws -> APIKeyFile { try APIKeyFile(key, folder: folder.url.path) }

        /// Writes what the script must know, and returns the file.
        func settings(_ more: [String: Any] = [:]) throws -> String {
            let pki = try ForgedPKI(corpus: corpus)
            let customers = [
                "Production": LibraryCustomer(first: 2_000_000_100_000_000, receiptType: "Production"),
                "Sandbox": LibraryCustomer(first: 2_000_000_200_000_000, receiptType: "ProductionSandbox"),
            ]
            let settings: [String: Any] = [
                "Production": url(0), "Sandbox": url(1), "root_file": corpus + "/jws-root.pem", "key_id": key.keyID,
                "issuer_id": key.issuerID, "private_key_file": try keyFile().path,
                "bundle_id": LibraryCustomer.bundleID, "unknown_transaction_id": "2999999999999999",
                "customers": customers.mapValues { $0.settings(pki) },
            ]
            let json = try Data(json: settings.merging(more) { $1 })
            return try folder.write(String(decoding: json, as: UTF8.self), to: "settings.json")
        }
    }

    private static func withApple(_ test: (Apple) async throws -> Void) async throws {
        let folder = try ScratchFolder(), corpus = folder.url.appending(path: "corpus").path
        #expect(try await Program.loadTest.run(["corpus", "--out", corpus, "--count", "1"]).status == 0)
        let reserved = [try ReservedPort(), try ReservedPort()], ports = reserved.map(\.number)
        let apple = try ChildProgram(
            Program.loadTest.url.path,
            ["apple", "--pki", corpus, "--production-port", "\(ports[0])", "--sandbox-port", "\(ports[1])"])
        try await apple.whileRunning { apple in
            try await apple.listens(at: ports[0], ports[1])
            try await test(Apple(folder: folder, corpus: corpus, ports: ports))
        }
    }

    /// Returns the number of checks that passed, and records the others.
    private static func passed(_ outcome: Program.Outcome) throws -> Int {
        let lines = outcome.output.split(separator: "\n")
        for line in lines where line.hasPrefix("not ok ") { Issue.record("\(line)") }
        #expect(outcome.status == 0, "\(lines.last ?? "")\n\(outcome.errors)")
        let counts = try #require(lines.last?.wholeMatch(of: /(\d+) passed, 0 failed/), "\(outcome.output)")
        return try #require(Int(counts.1))
    }

    /// A newer library with more methods fails here until they are called, too.
    private static func expectEveryMethod(in outcome: Program.Outcome) {
        let lines = outcome.output.split(separator: "\n")
        #expect(lines.contains("ok every public method of the client was called"))
        #expect(lines.contains("ok every method of the verifier was used"))
    }
}

enum AppleLibrary {
    /// The virtual environment that `.ci/deps test` makes, whichever folder the tests are built in.
    private static let python = repositoryRoot.appending(path: ".build/apple-library/bin/python").path

    static var isInstalled: Bool {
        FileManager.default.isExecutableFile(atPath: python)
            && FileManager.default.fileExists(atPath: repositoryRoot.path + "/.build/apple-library/requirements.sha256")
    }

    static func check(_ settings: String, with script: String = "calls.py") async throws -> Program.Outcome {
        let script = repositoryRoot.appending(path: "Tests/AppleLibrary").appending(path: script).path
        return try await Program.named.run([python, "-B", script, settings])
    }
}

/// A customer with more than a page of purchases of every kind, known by a receipt.
private struct LibraryCustomer {
    static let bundleID = "com.example.library"

    let first: Int64
    let receiptType: String

    private static let periods: Int64 = 24
    /// Distances of IDs from the first.
    private enum Place {
        static let ended: Int64 = 100, family: Int64 = 200, single: Int64 = 300
    }

    func settings(_ pki: ForgedPKI) -> [String: Any] {
        var receipt = ReceiptContents(bundleID: Self.bundleID, creationDate: now)
        receipt.receiptType = receiptType
        receipt.purchases = purchases
        return [
            "receipt": ForgedEvidence.der(pki.sign(receipt)).base64,
            "transaction_id": "\(first + Self.periods - 1)", "active_original_transaction_id": "\(first)",
            "renewal_transaction_id": "\(first + 1)", "ended_original_transaction_id": "\(first + Place.ended)",
            "family_original_transaction_id": "\(first + Place.family)",
            "consumable_transaction_id": "\(first + Place.single)",
            // 7, and the lowest original transaction ID in 17 digits; M, and the transaction ID to the base 36.
            "app_transaction_id": "\(700_000_000_000_000_000 + first)",
            "order_id": "M" + String(first + Self.periods - 1, radix: 36, uppercase: true),
        ]
    }

    let now = UTCDate(secondsSince1970: Int64(Date().timeIntervalSince1970))

    private var purchases: [PurchaseContents] {
        let renewed = (0..<Self.periods).map { index in
            period(first + index, of: first, "monthly", daysAgo: 30 * (Self.periods - 1 - index) + 5)
        }
        let others = [
            period(first + Place.ended, of: first + Place.ended, "weekly", daysAgo: 100),
            // The scenario knows who owns it.
            period(first + Place.family, of: first + Place.family, "family", daysAgo: 3),
        ]
        return renewed + others + [
            single(0, "coins", .consumable), single(1, "lifetime", .nonConsumable),
            // The scenario knows that it was refunded.
            single(2, "regretted", .nonConsumable), single(3, "season", .nonRenewingSubscription),
        ]
    }

    private func period(_ id: Int64, of original: Int64, _ product: String, daysAgo: Int64) -> PurchaseContents {
        let start = now.advanced(byDays: -daysAgo)
        var period = PurchaseContents(
            productID: "\(Self.bundleID).\(product)", transactionID: "\(id)", purchaseDate: start)
        period.originalTransactionID = "\(original)"
        period.originalPurchaseDate = now.advanced(byDays: -daysAgo - 30 * (id - original))
        period.expiresDate = start.advanced(byDays: 30)
        period.webOrderLineItemID = id
        return period
    }

    private func single(
        _ number: Int64, _ product: String, _ type: PurchaseContents.ProductType
    ) -> PurchaseContents {
        var purchase = PurchaseContents(
            productID: "\(Self.bundleID).\(product)", transactionID: "\(first + Place.single + number)",
            purchaseDate: now.advanced(byDays: -50 - number))
        purchase.productType = type
        return purchase
    }
}
