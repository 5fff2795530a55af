// SPDX-License-Identifier: Apache-2.0

internal import Gateway
internal import JSON
internal import Receipts

/// The reason why a body with status 2xx is not returned.
enum ServerAPIAnswerFault: Error, Hashable, Sendable {
    case unusable(AppStoreFault)
    /// A JWS in it is not Apple's, or it is about another app, environment or transaction than was asked for.
    case contradiction(Contradiction)
}

/// Verifies answers: each JWS, its app and its environment.
struct ServerAPIAnswerVerifier: Sendable {
    enum Limits {
        /// A page has 20 items, each of some kilobytes; notifications have about 19 KB.
        static let responseBytes = 4 << 20
        static let json = JSONValue.Limits(bytes: responseBytes, depth: 16, values: 50_000)
        /// The limit for JWS in one answer. Each JWS costs a signature's verification.
        static let items = 1000
        /// The difference between the times of a call and of the signatures in its answer.
        static let statusAge: Duration = .seconds(300)
    }

    let verifier: ReceiptVerifier
    let bundleID: String
    /// Apple's number of the app; nil if it is not configured.
    var appAppleID: Int64?
    let environment: Environment
    let now: Timestamp
    /// As in `ServerAPIRequest`.
    var verifiesNotifications = true

    func answer(
        httpStatus: Int, body: [UInt8], to call: ServerAPICall
    ) throws(ServerAPIAnswerFault) -> ServerAPIAnswer {
        var answer = ServerAPIAnswer(httpStatus: httpStatus, body: body)
        if body.isEmpty, call.operation.effect != .reads { return answer }
        let json: JSONValue
        do throws(AppStoreFault) { json = try JSONValue(objectIn: body, Limits.json) } catch { throw .unusable(error) }
        try checkNames(of: json)
        try read(json, of: call, into: &answer)
        return answer
    }

    /// Checks the app and the environment that the answer names outside its JWS.
    private func checkNames(of json: JSONValue) throws(ServerAPIAnswerFault) {
        if let named = try json.text("bundleId") { try check(app: named, nil) }
        if let named = try json.integer("appAppleId") { try check(number: named) }
        if let named = try json.text("environment"), named != environment.rawValue {
            throw .contradiction(.otherEnvironment)
        }
    }

    private func read(
        _ json: JSONValue, of call: ServerAPICall, into answer: inout ServerAPIAnswer
    ) throws(ServerAPIAnswerFault) {
        switch call.operation {
        case .transactionInfo:
            let transaction = try required(transaction(json.required("signedTransactionInfo")))
            guard call.transactionID.map(transaction.isNamed) ?? true else { throw .contradiction(.otherTransaction) }
            answer.transactions = [transaction]
        case .transactionHistory, .transactionHistoryV1, .refundHistory:
            try readTransactions(json, into: &answer)
            (answer.revision, answer.hasMore) = (try json.text("revision"), try json.flag("hasMore") ?? false)
        case .subscriptionStatuses: try readStatuses(json, into: &answer)
        case .appTransactionInfo:
            answer.appTransaction = try appTransaction(json.required("signedAppTransactionInfo"))
        case .orderLookup:
            // Absent for an order ID that is not valid (status 1).
            guard json["signedTransactions"] != nil else { return }
            try readTransactions(json, into: &answer)
        case .notificationHistory: try readNotifications(json, into: &answer)
        case .testNotification: answer.testNotificationToken = try json.text("testNotificationToken")
        case .testNotificationStatus:
            if let payload = try json.text("signedPayload") { _ = try required(notification(payload)) }
            answer.sendAttempts = try json.sendAttempts
        case .extendRenewalDate, .massExtendRenewalDates, .massExtensionStatus,
            .consumptionInformation, .setAppAccountToken, .finishTransaction, .retentionMessagingInfo,
            .retentionMessagingChange:
            break
        case .advancedCommerce: try readChange(json, into: &answer)
        }
    }

    private func readNotifications(
        _ json: JSONValue, into answer: inout ServerAPIAnswer
    ) throws(ServerAPIAnswerFault) {
        for item in try json.items("notificationHistory") {
            let payload = try item.required("signedPayload")
            if verifiesNotifications, case .failure(let item) = try notification(payload) {
                answer.unreadable.append(item)
            }
            answer.signedPayloads.append(Array(payload.utf8))
        }
        answer.paginationToken = try json.text("paginationToken")
        answer.hasMore = try json.flag("hasMore") ?? false
    }

    private func readStatuses(
        _ json: JSONValue, into answer: inout ServerAPIAnswer
    ) throws(ServerAPIAnswerFault) {
        for group in try json.items("data") {
            for item in try group.items("lastTransactions") {
                guard answer.transactions.count + answer.unreadable.count < Limits.items else {
                    throw .unusable(.unreadable("data"))
                }
                try readStatus(item, into: &answer)
            }
        }
        try completeApps(of: &answer)
    }

    private func readStatus(_ item: JSONValue, into answer: inout ServerAPIAnswer) throws(ServerAPIAnswerFault) {
        try readPlan(item, of: add(item["signedTransactionInfo"], to: &answer), into: &answer)
    }

    /// Reads what an Advanced Commerce change left behind: a transaction and a plan, each only where there is one.
    private func readChange(_ json: JSONValue, into answer: inout ServerAPIAnswer) throws(ServerAPIAnswerFault) {
        let transaction = json.present("signedTransactionInfo")
        let verified = transaction == nil ? nil : try add(transaction, to: &answer)
        try readPlan(json, of: verified, into: &answer)
    }

    private func readPlan(
        _ item: JSONValue, of transaction: VerifiedTransaction?, into answer: inout ServerAPIAnswer
    ) throws(ServerAPIAnswerFault) {
        guard let text = item.present("signedRenewalInfo") else { return }
        switch try renewalInfo(text, of: transaction) {
        case .success(let signed):
            let reported = transaction.flatMap { transaction in
                item["status"]?.number?.integer.flatMap { status($0, of: transaction, signed) }
            }
            answer.renewals.append(ReportedRenewal(renewalInfo: signed, status: reported))
        case .failure(let item): answer.unreadable.append(item)
        }
    }

    /// Returns a status with the time of the transaction beside it; nil if Apple did not sign both now. Nothing else shows
    /// the age of a status.
    private func status(
        _ code: Int64, of transaction: VerifiedTransaction, _ renewalInfo: VerifiedRenewalInfo
    ) -> ReportedStatus? {
        let isCurrent = [transaction.signedDate, renewalInfo.signedDate].allSatisfy {
            $0.duration(to: now).magnitude <= Limits.statusAge
        }
        return isCurrent ? ReportedStatus(code: code, at: transaction.signedDate) : nil
    }
}

// MARK: - JWS

extension ServerAPIAnswerVerifier {
    private typealias Item<Payload> = Result<Payload, UnreadableItem>

    private func readTransactions(
        _ json: JSONValue, into answer: inout ServerAPIAnswer
    ) throws(ServerAPIAnswerFault) {
        for item in try json.items("signedTransactions") { _ = try add(item, to: &answer) }
        try completeApps(of: &answer)
    }

    /// Adds a transaction to the answer, and returns it; nil if the transaction cannot be read.
    private func add(
        _ item: JSONValue?, to answer: inout ServerAPIAnswer
    ) throws(ServerAPIAnswerFault) -> VerifiedTransaction? {
        switch try item?.string.map({ text throws(ServerAPIAnswerFault) in try transaction(text) }) {
        case .success(let transaction)?:
            answer.transactions.append(transaction)
            return transaction
        case .failure(let item)?: answer.unreadable.append(item)
        case nil: answer.unreadable.append(UnreadableItem(fault: "not_a_string"))
        }
        return nil
    }

    /// Completes transactions that name no app, from other transactions of their chains. A transaction whose chain
    /// names no app cannot be used.
    private func completeApps(of answer: inout ServerAPIAnswer) throws(ServerAPIAnswerFault) {
        guard answer.transactions.contains(where: \.bundleID.isEmpty) else { return }
        let named = Set(answer.transactions.filter { !$0.bundleID.isEmpty }.map(\.originalTransactionID))
        for transaction in answer.transactions where !named.contains(transaction.originalTransactionID) {
            answer.unreadable.append(
                UnreadableItem(
                    transactionID: transaction.transactionID,
                    originalTransactionID: transaction.originalTransactionID, productID: transaction.productID,
                    isRevoked: transaction.revocationDate != nil, fault: "claim_missing bundleId"))
        }
        answer.transactions = answer.transactions.filter { named.contains($0.originalTransactionID) }
            .map { $0.ofApp(bundleID) }
    }

    private func transaction(_ text: String) throws(ServerAPIAnswerFault) -> Item<VerifiedTransaction> {
        let transaction = try verified(text) { jws throws(ReceiptError) in
            try verifier.verifyTransactionOfAnyApp(jws, at: now)
        }
        if case .success(let transaction) = transaction {
            try check(app: transaction.bundleID.isEmpty ? nil : transaction.bundleID, transaction.environment)
        }
        return transaction
    }

    private func renewalInfo(
        _ item: JSONValue, of transaction: VerifiedTransaction?
    ) throws(ServerAPIAnswerFault) -> Item<VerifiedRenewalInfo> {
        guard let text = item.string else { return .failure(UnreadableItem(fault: "not_a_string")) }
        let renewalInfo = try verified(text) { jws throws(ReceiptError) in
            try verifier.verifyRenewalInfo(jws, at: now)
        }
        if case .success(let renewalInfo) = renewalInfo {
            try check(app: nil, renewalInfo.environment)
            guard transaction.map(renewalInfo.belongs) ?? true else { throw .contradiction(.otherTransaction) }
        }
        return renewalInfo
    }

    private func appTransaction(_ text: String) throws(ServerAPIAnswerFault) -> VerifiedAppTransaction {
        let appTransaction = try required(
            verified(text) { jws throws(ReceiptError) in try verifier.verifyAppTransaction(jws, at: now) })
        try check(app: appTransaction.bundleID, appTransaction.environment)
        try check(number: appTransaction.appAppleID)
        return appTransaction
    }

    private func notification(_ text: String) throws(ServerAPIAnswerFault) -> Item<VerifiedNotification> {
        let item = try verified(text) { jws throws(ReceiptError) in try verifier.verifyNotification(jws, at: now) }
        guard case .success(let notification) = item else { return item }
        try check(app: notification.bundleID, notification.environment)
        try check(number: notification.appAppleID)
        try check(app: notification.transaction?.bundleID, notification.transaction?.environment)
        try check(app: notification.appTransaction?.bundleID, notification.appTransaction?.environment)
        try check(app: nil, notification.renewalInfo?.environment)
        return item
    }

    /// Verifies a JWS. A JWS that Apple signed and that cannot be read is a fault of this item alone.
    private func verified<Payload>(
        _ text: String, _ verify: (_ jws: [UInt8]) throws(ReceiptError) -> Payload
    ) throws(ServerAPIAnswerFault) -> Item<Payload> {
        let jws = Array(text.utf8)
        do throws(ReceiptError) {
            return .success(try verify(jws))
        } catch {
            guard let claims = verifier.unreadableClaims(jws, error, at: now) else {
                throw .contradiction(error.rule == .renewalInfoUnrelated ? .otherTransaction : .itemNotSigned)
            }
            try check(app: claims.bundleID, claims.environment)
            return .failure(UnreadableItem(claims))
        }
    }

    /// Returns the payload of an item without which the answer is of no use.
    private func required<Payload>(_ item: Item<Payload>) throws(ServerAPIAnswerFault) -> Payload {
        switch item {
        case .success(let payload): payload
        case .failure(let item): throw .unusable(.unreadable(item.fault))
        }
    }

    /// Checks the signed app and environment. What a JWS of 2021 does not name goes with any.
    private func check(app: String?, _ signed: Environment?) throws(ServerAPIAnswerFault) {
        if let app, app != bundleID { throw .contradiction(.otherApp) }
        if let signed, signed != environment { throw .contradiction(.otherEnvironment) }
    }

    /// Checks Apple's number of the app. Only production names a number.
    private func check(number named: Int64?) throws(ServerAPIAnswerFault) {
        guard environment == .production, let appAppleID, let named else { return }
        if named != appAppleID { throw .contradiction(.otherApp) }
    }
}

extension VerifiedTransaction {
    /// Returns true if an ID names this transaction, the first transaction of its chain, or the customer's download of
    /// the app.
    func isNamed(_ id: String) -> Bool {
        [
            transactionID, originalTransactionID, signedFields.previousOriginalTransactionID,
            signedFields.appTransactionID,
        ].contains(id)
    }
}

extension UnreadableItem {
    fileprivate init(_ claims: UnreadableClaims) {
        self.init(
            transactionID: claims.transactionID, originalTransactionID: claims.originalTransactionID,
            productID: claims.productID, isRevoked: claims.isRevoked, fault: "\(claims.error)")
    }
}

// MARK: - Members

extension JSONValue {
    /// Returns a member; nil if it is absent or `null`.
    fileprivate func present(_ name: String) -> JSONValue? { self[name].flatMap { $0.type == .null ? nil : $0 } }

    /// Returns what is read of a member; nil if it is absent.
    private func value<Value>(
        _ name: String, _ read: (JSONValue) -> Value?
    ) throws(ServerAPIAnswerFault) -> Value? {
        guard let member = present(name) else { return nil }
        guard let value = read(member) else { throw .unusable(.unreadable(name)) }
        return value
    }

    fileprivate func text(_ name: String) throws(ServerAPIAnswerFault) -> String? { try value(name, \.string) }

    fileprivate func integer(_ name: String) throws(ServerAPIAnswerFault) -> Int64? {
        try value(name, \.number?.integer)
    }

    fileprivate func flag(_ name: String) throws(ServerAPIAnswerFault) -> Bool? { try value(name, \.bool) }

    fileprivate func required(_ name: String) throws(ServerAPIAnswerFault) -> String {
        guard let text = try text(name) else { throw .unusable(.missing(name)) }
        return text
    }

    /// Apple's attempts to deliver a notification; empty if it names none.
    fileprivate var sendAttempts: [SendAttempt] {
        get throws(ServerAPIAnswerFault) {
            guard self["sendAttempts"] != nil else { return [] }
            return try items("sendAttempts").map { item throws(ServerAPIAnswerFault) in
                SendAttempt(
                    date: Timestamp(millisecondsSince1970: try item.integer("attemptDate") ?? 0),
                    result: try item.required("sendAttemptResult"))
            }
        }
    }

    /// Returns the elements of a required list, at most `Limits.items`.
    fileprivate func items(_ name: String) throws(ServerAPIAnswerFault) -> [JSONValue] {
        guard let value = self[name] else { throw .unusable(.missing(name)) }
        guard let items = value.elements, items.count <= ServerAPIAnswerVerifier.Limits.items else {
            throw .unusable(.unreadable(name))
        }
        return items
    }
}
