// SPDX-License-Identifier: Apache-2.0

package import Gateway
internal import JSON
internal import Receipts

/// The effects of a verified notification: everything in it is signed by Apple, unless said otherwise.
struct SignedNotification: Sendable {
    let bundleID: String
    let environment: Environment
    let identity: NotificationIdentity
    /// The app's number at Apple; nil in the sandbox, and in version 1.
    private(set) var appAppleID: Int64?
    private(set) var cause: EventCause
    /// The new states, of each chain that the notification is about.
    private(set) var updates: [CustomerStateUpdate] = []
    /// The IDs of the purchases and customers whose cached results are out of date. Not all are signed in version 1.
    private(set) var outdated: [String] = []
    /// The faults of the items that cannot be read.
    private(set) var unreadableItems: [ReceiptError] = []
    /// Evidence to look up at Apple, because the notification says more than is signed.
    private(set) var refresh: NotifiedRefresh?

    enum Limits {
        /// The chains of one receipt whose state is kept, the newest first.
        static let chains = 16
        /// The transactions of each chain, the newest first.
        static let transactions = 16
    }

    /// Names the span of the request that brought the notification, for its events.
    mutating func join(_ traceparent: String?) {
        cause.traceparent = traceparent
        for index in updates.indices { updates[index].cause.traceparent = traceparent }
    }

    var partition: AppPartition {
        updates.first?.chain.partition ?? AppPartition(bundleID: bundleID, of: identity)
    }
}

/// Evidence that a notification of version 1 brought, whose state is to be looked up at Apple.
package struct NotifiedRefresh: Sendable {
    package let bundleID: String
    package let evidence: Evidence
}

// MARK: - Version 2

extension SignedNotification {
    init(_ notification: VerifiedNotification) throws(NotificationRejection) {
        let (transaction, plan) = (notification.transaction, notification.renewalInfo)
        let signed = notification.environment ?? transaction?.environment ?? plan?.environment
        let environment = signed ?? .production
        guard let bundleID = notification.bundleID, environment.isApples else { throw .withoutApp }
        (self.bundleID, self.environment) = (bundleID, environment)
        identity = NotificationIdentity(environment, uuid: notification.notificationUUID)
        cause = EventCause(notification, identity)
        appAppleID = notification.appAppleID
        outdated = [notification.appTransaction?.appTransactionID, transaction?.signedFields.appTransactionID]
            .compactMap(\.self)
        unreadableItems = notification.unreadableItems
        outdated += notification.unreadableClaims.flatMap { [$0.transactionID, $0.originalTransactionID] }
            .compactMap(\.self)
        // The plan may come alone. A notification about no purchase has neither.
        guard let name = transaction?.originalTransactionID ?? plan?.originalTransactionID else { return }
        // Evidence may still have the name of the chain from before Apple renamed it.
        let previous =
            transaction?.signedFields.previousOriginalTransactionID ?? plan?.signedFields.previousOriginalTransactionID
        let chains = [name] + [previous].compactMap(\.self).filter { $0 != name }
        outdated += chains
        // Without a signed environment nothing says whose state it is. A plan without the transaction beside it would make
        // the state look newer than it is: it may be a refund.
        let lacksTransaction = transaction == nil && notification.signedTransaction != nil
        guard signed != nil, !lacksTransaction else { return }
        let items = notification.stateItems
        updates = chains.map { CustomerStateUpdate(chain: chain($0), items: items, cause: cause) }
    }

    private func chain(_ id: String) -> PurchaseChain {
        PurchaseChain(bundleID: bundleID, environment: environment, originalTransactionID: id)
    }
}

extension VerifiedNotification {
    fileprivate var stateItems: [SignedStateItem] {
        var plan = renewalInfo.map { renewalInfo in
            Renewal(renewalInfo, status.flatMap { ReportedStatus(code: $0, at: signedDate) })
        }
        plan?.isDowngrade = subtype == "DOWNGRADE"
        return [transaction.map { .transaction(Transaction($0)) }, plan.map { .renewal($0) }].compactMap(\.self)
    }
}

// MARK: - Version 1

extension SignedNotification {
    /// - Parameters:
    ///   - receipt: the verified receipt of the notification; nil if it has none, so that nothing is signed.
    ///   - now: the time of its intake.
    init(_ notification: NotificationV1, _ receipt: SignedItem?, at now: Timestamp) throws(NotificationRejection) {
        guard receipt?.bundleID ?? notification.bundleID == notification.bundleID else { throw .receiptOfOtherApp }
        let environment = receipt?.environment ?? .production
        guard environment.isApples else { throw .withoutApp }
        bundleID = notification.bundleID
        self.environment = environment
        let transactions = receipt?.transactions.values ?? []
        let named = notification.originalTransactionID
        let chain = transactions.filter { $0.chainID == named }
        identity = notification.identity(named == nil ? transactions : chain)
        cause = EventCause(notification, signedAt: receipt?.signingTime ?? now, identity, chain)
        let newest = transactions.filter { $0.isSubscription || $0.chainID == named }.chainsByAge
        outdated = [named].compactMap(\.self).filter(\.isTransactionID)
        outdated += newest.prefix(Limits.chains).filter { $0 != named }
        if let receipt, let signedAt = receipt.signingTime {
            updates = outdated.compactMap { id in
                update(of: id, transactions.filter { $0.chainID == id }, signedAt)
            }
        }
        refresh = (receipt?.evidence).map { NotifiedRefresh(bundleID: notification.bundleID, evidence: $0) }
    }

    private func update(of id: String, _ chain: [Transaction], _ signedAt: Timestamp) -> CustomerStateUpdate? {
        guard !chain.isEmpty else { return nil }
        let newest = chain.sorted { $0.expiryOrder > $1.expiryOrder }.prefix(Limits.transactions)
        return CustomerStateUpdate(
            chain: self.chain(id), items: newest.map { .transaction($0.signed(at: signedAt)) }, cause: cause)
    }
}

extension SignedItem {
    fileprivate var evidence: Evidence? {
        switch self {
        case .appReceipt(let receipt): .appReceipt(receipt.bytes)
        case .transactionReceipt(let receipt): .transactionReceipt(receipt.bytes)
        case .transaction, .renewalInfo, .appTransaction: nil
        }
    }
}

extension Transaction {
    /// Returns the transaction with the time of the signature over its receipt.
    fileprivate func signed(at date: Timestamp) -> Transaction {
        var transaction = self
        var fields = SignedTransactionFields()
        fields.signedDate = date
        transaction.signedFields = .value(fields)
        return transaction
    }
}

// MARK: - Cause of events

extension EventCause {
    fileprivate init(_ notification: VerifiedNotification, _ identity: NotificationIdentity) {
        self.init(source: .notification, signedDate: notification.signedDate)
        notificationUUID = notification.notificationUUID.lowercased()
        notificationType = notification.notificationType
        subtype = notification.subtype
        notificationIdentity = identity.parts
        transaction = notification.transaction.map { Transaction($0) }
        summary = notification.summary.flatMap(JSONValue.compactObject)
        externalPurchaseToken = notification.externalPurchaseToken.flatMap(JSONValue.compactObject)
        signedTransaction = notification.signedTransaction.map { Array($0.utf8) }
        signedRenewalInfo = notification.signedRenewalInfo.map { Array($0.utf8) }
    }

    /// - Parameter chain: the transactions with the original transaction ID that it names.
    fileprivate init(
        _ notification: NotificationV1, signedAt date: Timestamp, _ identity: NotificationIdentity,
        _ chain: [Transaction]
    ) {
        self.init(source: .notification, signedDate: date)
        notificationType = notification.notificationType
        notificationIdentity = identity.parts
        transaction = chain.newest?.signed(at: date)
    }
}
