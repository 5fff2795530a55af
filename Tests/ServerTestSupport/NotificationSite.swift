// SPDX-License-Identifier: Apache-2.0

import AppStore
import Cryptography
import Foundation
import Gateway
import Logging
import NIOHTTP1
import ReceiptForge
import Receipts
import Resilience
import TestSupport

@testable import API
@testable import Clients
@testable import Customers
@testable import HTTPServer
@testable import Server
@testable import Telemetry

/// The routes for notifications of one app, over a store in this process. Time stands still.
final class NotificationSite: Sendable {
    static let app = "com.example.forge"
    static let appAppleID: Int64 = 1_234_567_890
    static let secret = "0123456789abcdef0123456789abcdef"
    static let accountSecret = "fedcba9876543210fedcba9876543210"
    static let now = SignedSamples.now

    let registry: PrometheusRegistry
    let log = LogLines()
    let limiter: EmbeddedRateLimiter
    let store: EmbeddedNotificationStore
    let pipeline: RequestPipeline
    private let announced = RecordedValues<AppPartition>()

    /// - Parameters:
    ///   - apps: the apps in the clients file.
    ///   - isPermitted: false as if neither Redis nor `allow_volatile` were configured.
    init(
        token: String? = nil, apps: Set<String> = [app], isPermitted: Bool = true, backlogBytes: Int = 1 << 20
    ) throws {
        let start = Instant.now
        limiter = EmbeddedRateLimiter { start }
        store = EmbeddedNotificationStore(isPermitted: isPermitted, maximumBytes: backlogBytes) { Self.now }
        registry = try PrometheusRegistry(MetricCatalogue.all)
        let settings = LogSettings(LogSettings.Values(level: .trace, requests: .all)), logger = log.logger(settings)
        let access = CurrentAccess(Access(Self.rules(apps)))
        let intake = NotificationIntake(
            NotificationVerifier(CurrentVerifier(try Self.verifier()), apps: NotificationApps(access)), queue: store,
            observe: NotificationMetrics(registry, logger: logger, clock: { Self.now }).observe,
            onStored: announced.add)
        let admission = ClientAdmission(rates: limiter, slots: EmbeddedInFlightLimiter())
        let routes = NotificationRoutes(
            intake, access: access, token: try token.map { try NotificationToken(configuration: $0) },
            charging: RequestCharging(admission, metrics: LimitMetrics(registry)), clock: { Self.now })
        pipeline = RequestPipeline(routes.routes, logger: logger, writingTo: log, settings)
    }

    private static func rules(_ apps: Set<String>) -> AccessRules {
        AccessRules(
            clients: [Client(name: "shop", apps: .only(apps), keys: [])],
            secrets: SharedSecrets(
                primary: Secret(accountSecret), ofApps: apps.contains(app) ? [app: Secret(secret)] : [:]),
            serverAPIKeys: ServerAPIKeys(appAppleIDs: apps.contains(app) ? [app: appAppleID] : [:]))
    }

    /// Returns a verifier that trusts the forge's roots for notifications and for receipts.
    private static func verifier() throws -> ReceiptVerifier {
        var store = TrustStore.apple
        for pem in [SignedSamples.pki.root.pem, Forged.pki.rootPEM] {
            try store.add(pem: pem, environments: [.production, .sandbox])
        }
        return ReceiptVerifier(trustStore: store)
    }

    func post(
        _ body: String, to path: String = "/apple/notifications", contentType: String? = "application/json",
        from peer: String = "192.0.2.1"
    ) async throws -> Reply {
        try await pipeline.answer(.POST, path, body, contentType, as: .unidentified, from: peer)
    }

    /// The partitions of the notifications that were stored.
    var stored: [AppPartition] { announced.all }

    /// Returns the number of notifications with this outcome.
    func received(_ outcome: IntakeOutcome, version: String = "v2") -> Double? {
        registry.value(
            of: "notifications_received_total"
                + #"{version="\#(version)",origin="posted",outcome="\#(outcome.rawValue)"}"#)
    }
}

extension NotificationVerifier {
    /// A verifier of the forge's notifications about any app.
    static var ofAllApps: NotificationVerifier {
        let apps = NotificationApps(
            isConfigured: { _ in true }, appAppleID: { _ in nil }, isSharedSecret: { _, _ in false })
        return NotificationVerifier(CurrentVerifier(SignedSamples.verifier), apps: apps)
    }
}

/// Bodies that Apple might post.
enum SignedNotifications {
    /// Returns a notification about a transaction: by default the renewal of a subscription in the sandbox.
    static func v2(
        about transaction: TransactionContents? = TransactionContents(), by pki: TransactionPKI = SignedSamples.pki,
        _ edit: (inout NotificationContents) -> Void = { _ in }
    ) -> String {
        var contents = NotificationContents()
        contents.data?.signedTransactionInfo = transaction.map(SignedSamples.text)
        edit(&contents)
        return #"{"signedPayload":"\#(String(decoding: pki.jws(contents), as: UTF8.self))"}"#
    }

    /// Returns a notification of the refund of the sample transaction, signed after the sample.
    /// - Parameter number: makes it the refund of a purchase of its own.
    static func refund(_ number: Int? = nil) -> String {
        var transaction = TransactionContents()
        if let number {
            transaction.transactionID = "\(2_000_000_000_000_000 + number)"
            transaction.originalTransactionID = transaction.transactionID
        }
        transaction.signedDate = TransactionContents.signedByDefault.advanced(by: .seconds(5))
        transaction.revocationDate = TransactionContents.signedByDefault.advanced(by: .seconds(4))
        transaction.revocationReason = 0
        return v2(about: transaction) { contents in
            contents.notificationType = "REFUND"
            if let number { contents.notificationUUID = "0f2b7a52-8c14-4b8e-8a5e-\(100_000_000_000 + number)" }
            contents.signedDate = transaction.signedDate
        }
    }

    /// Returns a notification of version 1.
    /// - Parameter receipt: base64.
    static func v1(
        bundleID: String = NotificationSite.app, password: String = NotificationSite.secret, receipt: String? = nil
    ) -> String {
        let unified = receipt.map { #","unified_receipt":{"latest_receipt":"\#($0)"}"# } ?? ""
        return #"{"notification_type":"DID_RENEW","bid":"\#(bundleID)","password":"\#(password)","#
            + #""environment":"Sandbox","original_transaction_id":"1000"\#(unified)}"#
    }

    /// Returns a receipt with one subscription.
    /// - Parameter vendor: makes the bytes of the receipt other ones.
    static func receipt(
        of bundleID: String = NotificationSite.app, vendor: UInt8 = 1, by pki: ForgedPKI = Forged.pki
    ) -> String {
        let created = UTCDate(NotificationSite.now.advanced(by: .seconds(-60)))
        var contents = ReceiptContents(bundleID: bundleID, creationDate: created)
        contents.opaque7 = [UInt8](repeating: vendor, count: 40)
        var purchase = PurchaseContents(productID: "monthly", transactionID: "1000", purchaseDate: created)
        purchase.expiresDate = created.advanced(bySeconds: 3600)
        contents.purchases = [purchase]
        return Data(pki.sign(contents)).base64EncodedString()
    }
}
