// SPDX-License-Identifier: Apache-2.0

internal import JSON
internal import ReceiptForge

extension ServerAPI {
    func transactionInfo(_ call: APICall) throws(APIError) -> StoreAnswer {
        let (view, transaction) = try transaction(call)
        return .json { $0.member("signedTransactionInfo", jws(transaction, of: view, call)) }
    }

    func appTransactionInfo(_ call: APICall) throws(APIError) -> StoreAnswer {
        let customer = try customer(call).customer
        guard customer.hasAppTransaction else { throw .appTransactionNotFound }
        let contents = AppTransactionContents(customer.misplaced(by: call.fault))
        let jws = signer.jws(contents, for: call)
        return .json { $0.member("signedAppTransactionInfo", jws) }
    }

    /// Looks up an order, which has one transaction here. Only production has orders.
    func lookup(_ call: APICall) throws(APIError) -> StoreAnswer {
        let id = call.app.endpoint == .production ? CustomerIDs.transactionID(ofOrder: call.id) : nil
        let view = id.flatMap { self.view(ofCustomerWithID: $0, call) }
        let signed = view.map { view in view.transactions.filter { $0.id == id }.map { jws($0, of: view, call) } } ?? []
        return .json { json in
            json.member("status", signed.isEmpty ? 1 : 0)
            json.strings("signedTransactions", signed)
        }
    }

    func statuses(_ call: APICall) throws(APIError) -> StoreAnswer {
        let wanted = try call.query.all("status").map { text throws(APIError) in
            guard let status = Int(text).flatMap(SubscriptionStatus.init) else { throw .invalidStatus }
            return status
        }
        let view = try customer(call)
        let subscriptions = view.account.subscriptions.filter {
            wanted.isEmpty || wanted.contains($0.status(at: call.now))
        }
        let groups = Dictionary(grouping: subscriptions) { $0.newest.subscriptionGroup ?? "" }
        return .json { json in
            json.app(of: view, call)
            json.objects("data", of: groups.sorted { $0.key < $1.key }) { json, group in
                json.member("subscriptionGroupIdentifier", group.key)
                json.objects("lastTransactions", of: group.value) { write($1, of: view, call, &$0) }
            }
        }
    }

    private func write(
        _ subscription: SimulatedSubscription, of view: CustomerView, _ call: APICall, _ json: inout JSONWriter
    ) {
        let newest = subscription.newest.purchase
        json.member("originalTransactionId", newest.originalTransactionID)
        json.member("status", subscription.status(at: call.now).rawValue)
        // As of the call, like the status: not older than the history that was read before it.
        json.member("signedRenewalInfo", jws(subscription, of: view, call, anew: true))
        guard let transaction = view.transaction(newest.transactionID) else { return }
        json.member("signedTransactionInfo", jws(transaction, of: view, call, anew: true))
    }
}
