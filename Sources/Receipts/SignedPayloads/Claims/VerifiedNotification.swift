// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// A server notification of version 2 (App Store Server Notifications, `responseBodyV2DecodedPayload`) whose own
/// signature and the signatures inside it were verified. Only a `ReceiptVerifier` creates one.
///
/// Unknown claims and values are kept as they are; all claims are in the payload.
public struct VerifiedNotification: Sendable {
    /// The verified JWS, with its payload.
    public let jws: VerifiedJWS
    /// The kind of event, such as `DID_RENEW`.
    public private(set) var notificationType = ""
    /// The details of the kind, such as `BILLING_RECOVERY`.
    public private(set) var subtype: String?
    /// The notification's UUID, which no retry changes.
    public private(set) var notificationUUID = ""
    /// The time Apple signed the notification.
    public private(set) var signedDate: Timestamp = .earliest
    /// The app; nil if the notification names none.
    public private(set) var bundleID: String?
    /// The app's number in the App Store; absent in the sandbox.
    public private(set) var appAppleID: Int64?
    /// The environment; nil if it is not signed.
    public private(set) var environment: Environment?
    /// The state of the subscription when Apple signed the notification, by Apple's number (`status`).
    public private(set) var status: Int64?
    /// The transaction that the notification is about.
    public private(set) var transaction: VerifiedTransaction?
    /// The plan of the subscription that the notification is about.
    public private(set) var renewalInfo: VerifiedRenewalInfo?
    /// The app transaction that the notification is about.
    public private(set) var appTransaction: VerifiedAppTransaction?
    /// `summary` as Apple wrote it, in JSON: the outcome of an extension for all subscribers.
    public private(set) var summary: [UInt8]?
    /// `externalPurchaseToken` as Apple wrote it, in JSON.
    public private(set) var externalPurchaseToken: [UInt8]?
    /// The JWS of `transaction`.
    package private(set) var signedTransaction: String?
    /// The JWS of `renewalInfo`.
    package private(set) var signedRenewalInfo: String?

    /// Reads the claims of a verified JWS, and verifies each JWS inside it.
    init(_ jws: VerifiedJWS, _ context: ClaimContext, _ verifier: ReceiptVerifier) throws(ReceiptError) {
        self.jws = jws
        var containers = Containers()
        var claims = try context.claims(of: jws)
        try claims.readAll { claim, claims throws(ReceiptError) in try read(claim, of: &claims, &containers) }
        var subject = containers.subject
        // A container that Apple added since.
        if subject.bundleID == nil { subject = try Subject(inUnknownObjectOf: jws, context) ?? subject }
        guard !notificationType.isEmpty else { throw ReceiptError(missing: .notificationType) }
        guard !notificationUUID.isEmpty else { throw ReceiptError(missing: .notificationUUID) }
        guard signedDate != .earliest else { throw ReceiptError(missing: .signedDate) }
        try context.check(jws, signedAt: signedDate)
        environment = try context.environment(subject.environmentName, of: jws)
        (bundleID, appAppleID, status) = (subject.bundleID, subject.appAppleID, subject.status)
        try verifyItems(of: subject, by: verifier, at: context.now)
        try checkItems()
    }

    private mutating func read(
        _ claim: ClaimName, of claims: inout ClaimReader, _ containers: inout Containers
    ) throws(ReceiptError) {
        switch claim {
        case .notificationType: notificationType = try claims.text() ?? ""
        case .subtype: subtype = try claims.text()
        case .notificationUUID: notificationUUID = try claims.text() ?? ""
        case .signedDate: signedDate = try claims.date() ?? .earliest
        // One container says what the notification is about.
        case .data: containers.data = try claims.nested(Subject.init)
        case .appData: containers.other = try claims.nested(Subject.init) ?? containers.other
        case .summary: summary = try container(of: &claims, &containers)
        case .externalPurchaseToken: externalPurchaseToken = try container(of: &claims, &containers)
        default: try claims.skip()
        }
    }

    /// Reads another container than `data`, and returns its text.
    private func container(
        of claims: inout ClaimReader, _ containers: inout Containers
    ) throws(ReceiptError) -> [UInt8]? {
        var text = claims
        guard let found = try claims.nested(Subject.init) else { return nil }
        containers.other = found
        return try text.raw()
    }

    private mutating func verifyItems(
        of subject: Subject, by verifier: ReceiptVerifier, at now: Timestamp
    ) throws(ReceiptError) {
        (signedTransaction, signedRenewalInfo) = (subject.transaction, subject.renewalInfo)
        if let text = subject.transaction {
            let transaction = try verifier.verifyTransactionOfAnyApp(Array(text.utf8), at: now)
            guard let bundleID = transaction.bundleID.isEmpty ? subject.bundleID : transaction.bundleID else {
                throw ReceiptError(missing: .bundleID)
            }
            self.transaction = transaction.ofApp(bundleID)
        }
        if let text = subject.renewalInfo { renewalInfo = try verifier.verifyRenewalInfo(Array(text.utf8), at: now) }
        if let text = subject.appTransaction {
            appTransaction = try verifier.verifyAppTransaction(Array(text.utf8), at: now)
        }
    }

    /// Checks that the items are about the same app, environment and subscription. Values that are not signed go with
    /// any.
    private func checkItems() throws(ReceiptError) {
        let apps = [bundleID, transaction?.bundleID, appTransaction?.bundleID]
        guard Set(apps.compactMap(\.self)).count <= 1 else { throw ReceiptError(.itemsOfDifferentApps) }
        let environments = [
            environment, transaction?.environment, renewalInfo?.environment, appTransaction?.environment,
        ]
        guard Set(environments.compactMap(\.self)).count <= 1 else {
            throw ReceiptError(.itemsOfDifferentEnvironments)
        }
        guard let transaction, let renewalInfo else { return }
        guard renewalInfo.belongs(to: transaction) else { throw ReceiptError(.renewalInfoUnrelated) }
    }

    /// The containers of a notification. One container says what the notification is about.
    private struct Containers {
        var data: Subject?
        /// `summary`, `appData` or `externalPurchaseToken`.
        var other: Subject?

        var subject: Subject { [data, other].lazy.compactMap(\.self).first { !$0.isEmpty } ?? Subject() }
    }

    /// The contents of `data`, `summary`, `appData` or `externalPurchaseToken`.
    private struct Subject {
        var bundleID: String?
        var appAppleID: Int64?
        var environmentName: String?
        var status: Int64?
        var transaction: String?
        var renewalInfo: String?
        var appTransaction: String?

        init() {}

        var isEmpty: Bool {
            bundleID == nil && [transaction, renewalInfo, appTransaction].allSatisfy { $0 == nil }
        }

        init(_ claims: inout ClaimReader) throws(ReceiptError) {
            try claims.readAll { claim, claims throws(ReceiptError) in
                switch claim {
                case .bundleID: bundleID = try claims.text()
                case .appAppleID: appAppleID = try claims.integer()
                case .environment: environmentName = try claims.text()
                case .status: status = try claims.integer()
                case .externalPurchaseID: environmentName = Self.environment(ofToken: try claims.text())
                case .signedTransactionInfo: transaction = try claims.text()
                case .signedRenewalInfo: renewalInfo = try claims.text()
                case .signedAppTransactionInfo: appTransaction = try claims.text()
                default: try claims.skip()
                }
            }
        }

        /// Finds the app in a container of a name that is unknown here; nil if no container names an app.
        init?(inUnknownObjectOf jws: VerifiedJWS, _ context: ClaimContext) throws(ReceiptError) {
            var claims = try context.claims(of: jws)
            let found = try claims.firstUnknown { claims throws(ReceiptError) in
                let subject = try Subject(&claims)
                return subject.bundleID == nil ? nil : subject
            }
            guard let found else { return nil }
            self = found
        }

        /// Tokens of external purchases name their environment by a prefix.
        private static func environment(ofToken id: String?) -> String? {
            id.map { ($0.hasPrefix("SANDBOX") ? Environment.sandbox : .production).rawValue }
        }
    }
}

extension VerifiedNotification: CustomStringConvertible, CustomReflectable {
    /// Contains no claim.
    public var description: String { "VerifiedNotification" }

    /// Empty, for the same reason.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
