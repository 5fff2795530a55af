// SPDX-License-Identifier: Apache-2.0

internal import JSON
internal import ReceiptForge
internal import Receipts

/// A customer whose account was found, as a call sees it.
struct CustomerView: Sendable {
    let found: CustomerRegistry.Found
    let account: SimulatedAccount
    /// All transactions in the order of purchase, with their claims.
    let transactions: [ClaimedTransaction]
    /// The order in which the transactions changed.
    let log: TransactionLog

    var customer: Customer { found.customer }

    /// Returns true for an ID that a transaction or the app transaction has now.
    func hasID(_ id: String) -> Bool { id == customer.appTransactionID || transaction(id) != nil }

    /// Returns the transaction with an ID, or the first that is known of the chain with this original.
    func transaction(_ id: String) -> ClaimedTransaction? {
        transactions.first { $0.id == id } ?? transactions.first { $0.originalID == id }
    }
}

struct ClaimedTransaction: Sendable {
    let transaction: SimulatedTransaction
    /// Without the time of signing.
    let claims: TransactionContents

    var id: String { transaction.purchase.transactionID }
    var originalID: String { transaction.purchase.originalTransactionID }
}

extension ServerAPI {
    /// Finds the customer with a transaction ID, an original transaction ID or an app transaction ID.
    func customer(
        _ call: APICall, malformed: APIError = .invalidTransactionID, unknown: APIError = .transactionIDNotFound
    ) throws(APIError) -> CustomerView {
        guard Self.isTransactionID(call.id) else { throw malformed }
        guard let view = view(ofCustomerWithID: call.id, call), view.hasID(call.id) else { throw unknown }
        guard !view.account.isDeleted else { throw .accountNotFound }
        return view
    }

    /// Finds a customer's transaction.
    func transaction(
        _ call: APICall, malformed: APIError = .invalidTransactionID, unknown: APIError = .transactionIDNotFound
    ) throws(APIError) -> (view: CustomerView, transaction: ClaimedTransaction) {
        let view = try customer(call, malformed: malformed, unknown: unknown)
        guard let transaction = view.transaction(call.id) else {
            throw call.id == view.customer.appTransactionID ? .appTransactionIDNotSupported : unknown
        }
        return (view, transaction)
    }

    func view(ofCustomerWithID id: String, _ call: APICall) -> CustomerView? {
        customers.customer(withID: id, of: call.app, call.context).map { view(of: $0, call.context) }
    }

    /// Returns a customer's account, and names its transactions.
    func view(of found: CustomerRegistry.Found, _ context: CallContext) -> CustomerView {
        let account = found.customer.account(context)
        let transactions = account.history.sorted(by: SimulatedTransaction.isOlder).map {
            ClaimedTransaction(transaction: $0, claims: TransactionContents($0, of: found.customer))
        }
        let log = customers.log(
            found, transactions.map { ($0.id, Fingerprint(of: $0.claims.payload.span)) })
        return CustomerView(found: found, account: account, transactions: transactions, log: log)
    }

    /// Returns a transaction as a JWS, of another app or environment if the fault says so.
    func jws(_ item: ClaimedTransaction, of view: CustomerView, _ call: APICall, anew: Bool = false) -> String {
        let customer = view.customer.misplaced(by: call.fault)
        let claims =
            customer.app == view.customer.app ? item.claims : TransactionContents(item.transaction, of: customer)
        return signer.jws(claims, for: call, anew: anew)
    }

    /// Returns the renewal info of a subscription as a JWS, of another app or environment if the fault says so.
    func jws(
        _ subscription: SimulatedSubscription, of view: CustomerView, _ call: APICall, anew: Bool = false
    ) -> String {
        let claims = RenewalInfoContents(subscription, of: view.customer.misplaced(by: call.fault))
        return signer.jws(claims, for: call, anew: anew)
    }

    /// Returns true for 1 to 32 digits that are not all zero.
    static func isTransactionID(_ id: String) -> Bool {
        (1...32).contains(id.utf8.count) && id.utf8.allSatisfy { (0x30...0x39).contains($0) }
            && id.contains { $0 != "0" }
    }
}

extension SimulatedTransaction {
    static func isOlder(_ one: SimulatedTransaction, _ other: SimulatedTransaction) -> Bool {
        let (first, second) = (one.purchase, other.purchase)
        return (first.purchaseDate, first.transactionID) < (second.purchaseDate, second.transactionID)
    }
}

extension JSONWriter {
    /// Writes the members that name the app of an answer.
    mutating func app(of view: CustomerView, _ call: APICall) {
        let customer = view.customer.misplaced(by: call.fault)
        member("bundleId", customer.app.bundleID)
        member("appAppleId", view.customer.appAppleID)
        member("environment", customer.app.environment)
    }
}
