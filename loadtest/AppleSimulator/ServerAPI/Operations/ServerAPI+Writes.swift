// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import JSON
internal import NIOHTTP1

extension ServerAPI {
    func setAppAccountToken(_ call: APICall) throws(APIError) -> StoreAnswer {
        let token = try call.request.members()["appAccountToken"]?.string
        guard let token, UUID(uuidString: token) != nil else { throw .invalidAppAccountToken }
        let (view, transaction) = try transaction(call)
        guard transaction.originalID == call.id else { throw .notOriginalTransactionID }
        guard !transaction.transaction.isFamilyShared else { throw .familyTransaction }
        try change(view) { $0.appAccountTokens[call.id] = token }
        return .empty()
    }

    /// Marks a transaction as finished. Only a consumable shows it.
    func finish(_ call: APICall) throws(APIError) -> StoreAnswer {
        let (view, transaction) = try transaction(call)
        if transaction.transaction.isConsumable {
            try change(view) { $0.finished.insert(transaction.id) }
        }
        return .empty()
    }

    /// Accepts what the app says about the consumption of a purchase. It changes nothing here.
    func consumption(_ call: APICall) throws(APIError) -> StoreAnswer {
        let body = try call.request.members()
        guard body["customerConsented"]?.bool == true else { throw .invalidCustomerConsented }
        if !call.route.isFirstVersion { try Self.check(consumption: body) }
        let (_, transaction) = try transaction(call)
        let isSubscription = transaction.transaction.purchase.isSubscription
        if call.route.isFirstVersion, !transaction.transaction.isConsumable { throw .notConsumable }
        if isSubscription, body["consumptionPercentage"] != nil { throw .badRequest }
        return .empty(.accepted)
    }

    private static func check(consumption body: JSONValue) throws(APIError) {
        guard let status = body["deliveryStatus"]?.string, deliveryStatuses.contains(status) else {
            throw .invalidDeliveryStatus
        }
        guard body["sampleContentProvided"]?.bool != nil else { throw .invalidSampleContentProvided }
        if let percentage = body["consumptionPercentage"] {
            guard let number = percentage.number?.integer, (0...100_000).contains(number) else { throw .badRequest }
        }
        if let preference = body["refundPreference"] {
            guard let name = preference.string, refundPreferences.contains(name) else { throw .badRequest }
        }
    }

    private static let deliveryStatuses: Set<String> = [
        "DELIVERED", "UNDELIVERED_QUALITY_ISSUE", "UNDELIVERED_WRONG_ITEM", "UNDELIVERED_SERVER_OUTAGE",
        "UNDELIVERED_OTHER",
    ]
    private static let refundPreferences: Set<String> = ["DECLINE", "GRANT_FULL", "GRANT_PRORATED"]

    /// Accepts a change of the Advanced Commerce API, and answers with the transaction and its plan as they are. It changes
    /// nothing here.
    func advancedCommerce(_ call: APICall) throws(APIError) -> StoreAnswer {
        let reference = try call.request.members()["requestInfo"]?["requestReferenceId"]?.string
        guard let reference, UUID(uuidString: reference) != nil else { throw .badRequest }
        let (view, transaction) = try transaction(call)
        return .json { json in
            json.member("signedTransactionInfo", jws(transaction, of: view, call))
            guard let subscription = view.account.subscription(transaction.originalID) else { return }
            json.member("signedRenewalInfo", jws(subscription, of: view, call))
        }
    }

    /// Changes a customer; throws for a customer that is not kept.
    func change(_ view: CustomerView, _ body: (inout CustomerChanges) -> Void) throws(APIError) {
        guard customers.change(view.found, body) else { throw .unknownError }
    }
}
