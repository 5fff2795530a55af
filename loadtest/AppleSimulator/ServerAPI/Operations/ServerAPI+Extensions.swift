// SPDX-License-Identifier: Apache-2.0

internal import JSON
internal import ReceiptForge
internal import Synchronization

/// The fields that all extensions have.
private struct ExtensionRequest {
    let days: Int64
    let requestIdentifier: String

    init(_ body: JSONValue) throws(APIError) {
        guard let days = body["extendByDays"]?.number?.integer, (1...90).contains(days) else {
            throw .invalidExtendByDays
        }
        guard let reason = body["extendReasonCode"]?.number?.integer, (0...3).contains(reason) else {
            throw .invalidExtendReasonCode
        }
        guard let identifier = body["requestIdentifier"]?.string, (1...128).contains(identifier.utf8.count) else {
            throw .invalidRequestIdentifier
        }
        self.days = days
        requestIdentifier = identifier
    }

    var seconds: Int64 { days * 86_400 }
}

/// An extension of all running subscriptions of a product, which was carried out at once.
struct MassRequest: Hashable, Sendable {
    struct Name: Hashable, Sendable {
        let app: AppInStore
        let productID: String
        let requestIdentifier: String
    }

    let date: UTCDate
    let succeeded: Int
    let failed: Int
}

extension ServerAPI {
    func extendRenewalDate(_ call: APICall) throws(APIError) -> StoreAnswer {
        let request = try ExtensionRequest(try call.request.members())
        let view = try customer(
            call, malformed: .invalidOriginalTransactionID, unknown: .originalTransactionIDNotFound)
        let period = try extendable(view, call)
        try change(view) { _ = $0.extend(period, bySeconds: request.seconds, at: call.now) }
        let end = period.purchase.expiresDate?.advanced(bySeconds: request.seconds)
        return .json { json in
            json.member("originalTransactionId", call.id)
            json.member("webOrderLineItemId", String(period.purchase.webOrderLineItemID))
            json.member("success", true)
            json.member("effectiveDate", end?.millisecondsSince1970)
        }
    }

    /// Returns the period that an extension would lengthen.
    private func extendable(_ view: CustomerView, _ call: APICall) throws(APIError) -> SimulatedTransaction {
        guard let subscription = view.account.subscription(call.id) else {
            throw view.transactions.contains { $0.originalID == call.id }
                ? .extensionIneligible : .invalidOriginalTransactionID
        }
        guard subscription.isRunning(at: call.now) else { throw .extensionIneligible }
        guard !subscription.newest.isFamilyShared else { throw .familyExtensionIneligible }
        guard !view.customer.changes.hasMostExtensions(call.id, at: call.now) else { throw .extensionMaximum }
        return subscription.newest
    }
}

extension ServerAPI {
    func massExtend(_ call: APICall) throws(APIError) -> StoreAnswer {
        let body = try call.request.members()
        let request = try ExtensionRequest(body)
        guard let productID = body["productId"]?.string, !productID.isEmpty else { throw .invalidProductID }
        let isHere = try Self.includesStorefront(body)
        let name = MassRequest.Name(
            app: call.app, productID: productID, requestIdentifier: request.requestIdentifier)
        guard massRequests.withLock({ $0[name] }) == nil else { return Self.accepted(request) }
        let rule = MassExtension(app: call.app, productID: productID, seconds: request.seconds, date: call.now)
        let counts = isHere ? customers.extend(rule, call.context) : (succeeded: 0, failed: 0)
        guard let counts else { throw .unknownError }
        massRequests.withLock { requests in
            guard requests.count < limits.maximumMassExtensions else { return }
            requests[name] = MassRequest(date: call.now, succeeded: counts.succeeded, failed: counts.failed)
        }
        return Self.accepted(request)
    }

    private static func accepted(_ request: ExtensionRequest) -> StoreAnswer {
        .json { $0.member("requestIdentifier", request.requestIdentifier) }
    }

    /// Returns true if the storefronts include the storefront of all customers; without storefronts, all are meant.
    private static func includesStorefront(_ body: JSONValue) throws(APIError) -> Bool {
        guard let codes = body["storefrontCountryCodes"] else { return true }
        guard let codes = codes.elements, !codes.isEmpty else { throw .emptyStorefronts }
        let names = codes.compactMap(\.string)
        guard names.count == codes.count, names.allSatisfy({ $0.utf8.count == 3 }) else { throw .invalidStorefront }
        return names.contains(TransactionContents().storefront ?? "")
    }

    func massExtensionStatus(_ call: APICall) throws(APIError) -> StoreAnswer {
        guard call.route.values.count == 2 else { throw .invalidRequestIdentifier }
        let name = MassRequest.Name(app: call.app, productID: call.id, requestIdentifier: call.route.values[1])
        guard let request = massRequests.withLock({ $0[name] }) else { throw .extensionRequestNotFound }
        return .json { json in
            json.member("requestIdentifier", name.requestIdentifier)
            json.member("complete", true)
            json.member("completeDate", request.date.secondsSince1970 * 1000)
            json.member("succeededCount", request.succeeded)
            json.member("failedCount", request.failed)
        }
    }
}
