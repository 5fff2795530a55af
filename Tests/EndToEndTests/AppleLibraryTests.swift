// SPDX-License-Identifier: Apache-2.0

import Foundation
import LoopbackPorts
import ReceiptForge
import Testing
import TestSupport

@testable import LoadTest

/// Apple's own Python library against `receipt-loadtest apple`: the proof that the simulator behaves as Apple does.
@Suite(.enabled(if: AppleLibrary.isInstalled, "Apple's Python library is missing: .ci/deps test installs it"))
struct AppleLibraryTests {
    @Test(.timeLimit(.patient))
    func `Apple's library calls every method, verifies every signature, and meets every documented error`() async throws
    {
        let folder = try ScratchFolder(), corpus = folder.url.appending(path: "corpus").path
        #expect(try await Program.loadTest.run(["corpus", "--out", corpus, "--count", "1"]).status == 0)
        let reserved = [try ReservedPort(), try ReservedPort()], ports = reserved.map(\.number)
        let apple = try ChildProgram(
            Program.loadTest.url.path,
            ["apple", "--pki", corpus, "--production-port", "\(ports[0])", "--sandbox-port", "\(ports[1])"])
        let outcome = try await apple.whileRunning { apple in
            try await apple.listens(at: ports[0], ports[1])
            return try await AppleLibrary.check(try Self.settings(ports, corpus, folder))
        }
        let lines = outcome.output.split(separator: "\n")
        for line in lines where line.hasPrefix("not ok ") { Issue.record("\(line)") }
        #expect(outcome.status == 0, "\(lines.last ?? "")\n\(outcome.errors)")
        // A newer library with more methods fails here until they are called, too.
        #expect(lines.contains("ok every public method of the client was called"))
        #expect(lines.contains("ok every method of the verifier was used"))
        let counts = try #require(lines.last?.wholeMatch(of: /(\d+) passed, 0 failed/), "\(outcome.output)")
        #expect(try #require(Int(counts.1)) > 150)
    }

    /// Writes what the script must know, and returns the file.
    private static func settings(_ ports: [Int], _ corpus: String, _ folder: ScratchFolder) throws -> String {
        let key = ForgedAPIKey(seed: CorpusCommand.defaultSeed), pki = try ForgedPKI(corpus: corpus)
        let customers = [
            "Production": LibraryCustomer(first: 2_000_000_100_000_000, receiptType: "Production"),
            "Sandbox": LibraryCustomer(first: 2_000_000_200_000_000, receiptType: "ProductionSandbox"),
        ]
        let settings: [String: Any] = [
            "Production": "http://127.0.0.1:\(ports[0])", "Sandbox": "http://127.0.0.1:\(ports[1])",
            "root_file": corpus + "/jws-root.pem", "key_id": key.keyID, "issuer_id": key.issuerID,
            "private_key_file": try folder.write(key.privateKeyPEM, to: key.fileName),
            "bundle_id": LibraryCustomer.bundleID, "unknown_transaction_id": "2999999999999999",
            "customers": customers.mapValues { $0.settings(pki) },
        ]
        let json = try JSONSerialization.data(withJSONObject: settings, options: .sortedKeys)
        return try folder.write(String(decoding: json, as: UTF8.self), to: "settings.json")
    }
}

enum AppleLibrary {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..")
    /// The virtual environment that `.ci/deps test` makes, whichever folder the tests are built in.
    private static let python = root.appending(path: ".build/apple-library/bin/python").path

    static var isInstalled: Bool {
        FileManager.default.isExecutableFile(atPath: python)
            && FileManager.default.fileExists(atPath: root.path + "/.build/apple-library/requirements.sha256")
    }

    static func check(_ settings: String) async throws -> Program.Outcome {
        let script = root.appending(path: "Tests/AppleLibrary/calls.py").path
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
