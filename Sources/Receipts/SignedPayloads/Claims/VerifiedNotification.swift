// SPDX-License-Identifier: Apache-2.0

/// A server notification of version 2 (App Store Server Notifications, `responseBodyV2DecodedPayload`) whose own
/// signature and the signatures inside it were verified. Only a `ReceiptVerifier` creates one.
///
/// Unknown claims and values are kept as they are; all claims are in the payload. An item that Apple signed and that
/// cannot be read is nil, and named in `unreadableItems`: the others count.
public struct VerifiedNotification: Sendable, Confidential {
    /// The verified JWS, with its payload.
    public let jws: VerifiedJWS
    /// The kind of event, such as `DID_RENEW`.
    public let notificationType: String
    /// The details of the kind, such as `BILLING_RECOVERY`.
    public let subtype: String?
    /// The notification's UUID, which no retry changes.
    public let notificationUUID: String
    /// The time Apple signed the notification.
    public let signedDate: Timestamp
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
    /// The faults of the items that Apple signed and that cannot be read. What the notification is about may be among
    /// them: look it up at Apple.
    public var unreadableItems: [ReceiptError] { unreadableClaims.map(\.error) }
    /// The claims of these items that can be read.
    package private(set) var unreadableClaims: [UnreadableClaims] = []
    /// The JWS of `transaction`.
    package private(set) var signedTransaction: String?
    /// The JWS of `renewalInfo`.
    package private(set) var signedRenewalInfo: String?

    /// Reads the claims of a verified JWS, and verifies each JWS inside it.
    init(_ jws: VerifiedJWS, _ claims: consuming Claims, _ context: ClaimContext) throws(ReceiptError) {
        self.jws = jws
        notificationType = try claims.required("notificationType")
        notificationUUID = try claims.required("notificationUUID")
        subtype = try claims.text("subtype")
        signedDate = try claims.requiredDate("signedDate")
        let subject = try readSubject(&claims)
        try context.check(jws, signedAt: signedDate)
        environment = try context.environment(subject.environmentName, of: jws)
        (bundleID, appAppleID, status) = (subject.bundleID, subject.appAppleID, subject.status)
        try verifyItems(of: subject, by: context.verifier, at: context.now)
        try checkItems()
        bundleID = bundleID ?? transaction?.bundleID ?? appTransaction?.bundleID
    }

    /// Reads the containers of a notification. One of them says what the notification is about.
    private mutating func readSubject(_ claims: inout Claims) throws(ReceiptError) -> Subject {
        let data = try claims.nested("data", Subject.init), appData = try claims.nested("appData", Subject.init)
        let extended = try claims.nested("summary", Subject.init)
        if extended != nil { summary = try claims.raw("summary") }
        let token = try claims.nested("externalPurchaseToken", Subject.init)
        if token != nil { externalPurchaseToken = try claims.raw("externalPurchaseToken") }
        var subject = [data, appData, extended, token].compactMap(\.self).first { !$0.isEmpty } ?? Subject()
        guard subject.bundleID == nil else { return subject }
        // A container that Apple added since.
        let added = claims.firstUntouched { claims throws(ReceiptError) -> Subject? in
            let subject = try Subject(&claims)
            return subject.bundleID == nil ? nil : subject
        }
        guard let added, !subject.isEmpty else { return added ?? subject }
        subject.bundleID = added.bundleID
        subject.environmentName = subject.environmentName ?? added.environmentName
        return subject
    }

    private mutating func verifyItems(
        of subject: Subject, by verifier: ReceiptVerifier, at now: Timestamp
    ) throws(ReceiptError) {
        (signedTransaction, signedRenewalInfo) = (subject.transaction, subject.renewalInfo)
        let transaction = try item(subject.transaction, by: verifier, at: now) { jws throws(ReceiptError) in
            try verifier.verifyTransactionOfAnyApp(jws, at: now)
        }
        if let transaction {
            guard let bundleID = transaction.bundleID.isEmpty ? subject.bundleID : transaction.bundleID else {
                throw ReceiptError(missing: "bundleId")
            }
            self.transaction = transaction.ofApp(bundleID)
        }
        renewalInfo = try item(subject.renewalInfo, by: verifier, at: now) { jws throws(ReceiptError) in
            try verifier.verifyRenewalInfo(jws, at: now)
        }
        appTransaction = try item(subject.appTransaction, by: verifier, at: now) { jws throws(ReceiptError) in
            try verifier.verifyAppTransaction(jws, at: now)
        }
    }

    /// Returns a verified item; nil without it, and for an item that Apple signed and that cannot be read.
    private mutating func item<Item>(
        _ text: String?, by verifier: ReceiptVerifier, at now: Timestamp,
        _ verify: (_ jws: [UInt8]) throws(ReceiptError) -> Item
    ) throws(ReceiptError) -> Item? {
        guard let jws = text.map({ Array($0.utf8) }) else { return nil }
        do throws(ReceiptError) {
            return try verify(jws)
        } catch {
            guard let claims = verifier.unreadableClaims(jws, error, at: now) else { throw error }
            unreadableClaims.append(claims)
            return nil
        }
    }

    /// Checks that the items are about the same app, environment and subscription. Values that are not signed go with
    /// any.
    private func checkItems() throws(ReceiptError) {
        let apps = Set(
            [bundleID, transaction?.bundleID, appTransaction?.bundleID] + unreadableClaims.map(\.bundleID))
        guard apps.subtracting([nil]).count <= 1 else { throw ReceiptError(.itemsOfDifferentApps) }
        let environments = Set(
            [environment, transaction?.environment, renewalInfo?.environment, appTransaction?.environment]
                + unreadableClaims.map(\.environment))
        guard environments.subtracting([nil]).count <= 1 else { throw ReceiptError(.itemsOfDifferentEnvironments) }
        guard let transaction, let renewalInfo else { return }
        guard renewalInfo.belongs(to: transaction) else { throw ReceiptError(.renewalInfoUnrelated) }
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

        init(_ claims: inout Claims) throws(ReceiptError) {
            bundleID = try claims.text("bundleId")
            appAppleID = try claims.integer("appAppleId")
            let token = try claims.text("externalPurchaseId")
            environmentName = try claims.text("environment") ?? Self.environment(ofToken: token)
            status = try claims.integer("status")
            transaction = try claims.text("signedTransactionInfo")
            renewalInfo = try claims.text("signedRenewalInfo")
            appTransaction = try claims.text("signedAppTransactionInfo")
        }

        /// Tokens of external purchases name their environment by a prefix.
        private static func environment(ofToken id: String?) -> String? {
            id.map { ($0.hasPrefix("SANDBOX") ? Environment.sandbox : .production).rawValue }
        }
    }
}
