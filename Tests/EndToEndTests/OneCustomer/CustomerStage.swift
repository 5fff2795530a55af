// SPDX-License-Identifier: Apache-2.0

import AppleSimulator
import Foundation
import RealServers
import ReceiptForge
import Receipts
import Testing
import TestSupport

@testable import LoadTest

/// A gateway with every protocol, Redis, and a simulated Apple that notifies it. One customer bought a weekly subscription;
/// the clock of Apple and of the gateway can be moved.
struct CustomerStage {
    static let bundleID = Sample.bundleID
    static let productID = bundleID + ".weekly"
    static let transactionID = "70000009000001"

    let clock: MovedClock
    let gateway: RunningGateway
    let clients: AllClients
    /// The evidence that the app has on the device since the purchase. The app does not refresh the receipt.
    let receipt: String
    let signedTransaction: String
    private let apple: AppleSimulator
    /// The time of the purchase: some minutes before the test.
    private let purchaseDate: UTCDate

    /// Returns the day of a date of a member, counted from the purchase; nil for another value.
    func day(_ milliseconds: Any?) -> Int64? {
        let number = (milliseconds as? String).flatMap { Int64($0) } ?? (milliseconds as? Int).map(Int64.init)
        return number.map { ($0 - purchaseDate.millisecondsSince1970) / 86_400_000 }
    }

    /// Moves the clock to a day after the purchase, changes the customer's subscription at Apple, and lets Apple notify the
    /// gateway.
    func begin(_ phase: CustomerPhase) throws {
        try clock.move(to: phase.day * 86_400)
        try apple.notify(
            NotificationRequest(
                phase.change, about: .subscription(Self.transactionID), ofApp: Self.bundleID, at: .production))
    }
}

// MARK: - Start and stop

extension CustomerStage {
    /// Runs a test with all of it, and stops all of it.
    static func run(_ test: (CustomerStage) async throws -> Void) async throws {
        let folder = try ScratchFolder(), redis = try await RealServer.redis()
        defer { redis.kill() }
        let clock = try MovedClock(in: folder), purchaseDate = UTCDate(clock.now).advanced(bySeconds: -600)
        var configuration = AppleSimulator.Configuration(pki: Sample.pki)
        configuration.now = { clock.now }
        let receipt = receipt(purchaseDate), appleKey = ForgedAPIKey(seed: Sample.pki.seed)
        try await withApple(configuration) { apple in
            try await apple.register([receipt])
            let clients = try await AllClients(appleKey, in: folder)
            let settings = FleetShape.settings(
                root: try folder.write(Sample.pki.rootPEM, to: "root.pem"),
                try folder.write(configuration.transactionPKI.root.pem, to: "jws-root.pem"), apple: apple,
                redisURL: "redis://127.0.0.1:\(redis.port)")
            let own = try ownSettings(in: folder) + clients.settings + clock.settings
            let gateway = try await RunningGateway(settings + own)
            try apple.setNotificationURL(
                "http://127.0.0.1:\(gateway.dataPort)/apple/notifications", ofApp: bundleID, at: .production)
            let token = appleKey.token(bundleID: bundleID, issuedAt: UTCDate(clock.now))
            let stage = CustomerStage(
                clock: clock, gateway: gateway, clients: clients, receipt: receipt,
                signedTransaction: try await signedTransaction(from: apple, token), apple: apple,
                purchaseDate: purchaseDate)
            try await test(stage)
            #expect(await gateway.stop() == 0)
        }
    }

    private static func receipt(_ purchaseDate: UTCDate) -> String {
        var contents = ReceiptContents(bundleID: bundleID, creationDate: purchaseDate)
        contents.receiptType = "Production"
        var week = PurchaseContents(productID: productID, transactionID: transactionID, purchaseDate: purchaseDate)
        week.expiresDate = purchaseDate.advanced(byDays: 7)
        contents.purchases = [week]
        return Data(Sample.pki.sign(contents)).base64EncodedString()
    }

    /// Returns the purchase as Apple signs it on the day of the purchase.
    private static func signedTransaction(from apple: AppleSimulator, _ token: String) async throws -> String {
        let url = apple.productionBaseURL + "/inApps/v1/transactions/" + transactionID
        let answer = try await HTTPCall("GET", url: url, bearer: token).answer()
        return try #require(try answer.json["signedTransactionInfo"] as? String)
    }

    private static func ownSettings(in folder: ScratchFolder) throws -> [String: String] {
        [
            "GATEWAY_APPLE_SHARED_SECRET": Sample.secret,
            "GATEWAY_SIGNED_ANSWERS_KEY_FILES": try folder.write(
                ForgedAPIKey(seed: 46).privateKeyPEM, to: "answers.pem"),
            // The clock of Redis is not moved, and gives the events their places.
            "GATEWAY_EVENTS_MAX_AGE": "30d",
            // A busy machine must not look like a fault.
            "GATEWAY_REDIS_DEADLINE": Patience.operationSetting, "GATEWAY_APPLE_SOFT_TIMEOUT": "20s",
        ]
    }
}

/// A clients file with a backend that also has forms, and an app with plugins.
struct AllClients {
    static let formKey = "act_shop"
    static let formToken = "app_1"

    let backendKey: APIKey
    let appKey: APIKey
    private let path: String

    init(_ appleKey: ForgedAPIKey, in folder: ScratchFolder) async throws {
        (backendKey, appKey) = (try await APIKey(), try await APIKey())
        let formKey = try await FormStage.run("hash-key --import", input: Self.formKey)
        let text = """
            clients:
              - name: shop-backend
                apps: [\(CustomerStage.bundleID)]
                form:
                  apps: [{token: \(Self.formToken), bundle_id: \(CustomerStage.bundleID)}]
                  keys:
            \(formKey.output)    keys:
            \(backendKey.lines)  - name: shop-app
                apps: [\(CustomerStage.bundleID)]
                plugins: [cordova-plugin-purchase, openiap]
                keys:
            \(appKey.lines)
            """
        let serverAPI = try APIKeyFile(appleKey, folder: folder.url.path).clientsFileLines
        path = try folder.write(text + serverAPI, to: "clients.yaml")
    }

    var settings: [String: String] { APIKey.pepper.merging(["GATEWAY_CLIENTS_FILE": path]) { $1 } }
}
