// SPDX-License-Identifier: Apache-2.0

internal import JSON
internal import ReceiptForge

extension ServerAPI {
    /// Version 1 leaves out finished consumables, as `latest_receipt_info` does.
    func history(_ call: APICall) throws(APIError) -> StoreAnswer {
        let filter = try HistoryFilter(call.query)
        let view = try customer(call)
        let isFirstVersion = call.route.operation == .transactionHistoryV1
        let admitted = view.transactions.filter { item in
            filter.admits(item.transaction) && !(isFirstVersion && item.transaction.isFinished)
        }
        let page = RevisionPage(
            admitted.map { ($0, view.log.number(of: $0.id)) }, after: try revision(call, of: view),
            last: view.log.last, isDescending: filter.isDescending)
        return .json { json in
            json.member("revision", page.revision.text(of: view.customer))
            json.app(of: view, call)
            json.member("hasMore", page.hasMore)
            json.strings("signedTransactions", page.elements.map { jws($0, of: view, call) })
        }
    }

    private func revision(_ call: APICall, of view: CustomerView) throws(APIError) -> Revision {
        guard let text = call.query.first("revision") else { return Revision() }
        return try Revision(text, of: view.customer)
    }

    /// Returns refunded transactions in the order of their refunds, 20 a page. The revision counts them.
    func refunds(_ call: APICall) throws(APIError) -> StoreAnswer {
        let view = try customer(call)
        let refunded = view.transactions.filter { $0.transaction.purchase.cancellationReason != nil }
            .sorted { (Self.refundDate($0), $0.id) < (Self.refundDate($1), $1.id) }
        let page = RevisionPage(
            refunded.enumerated().map { ($0.element, Int64($0.offset) + 1) }, after: try revision(call, of: view),
            last: Int64(refunded.count), isDescending: false)
        return .json { json in
            json.member("hasMore", page.hasMore)
            json.member("revision", page.revision.text(of: view.customer))
            json.strings("signedTransactions", page.elements.map { jws($0, of: view, call) })
        }
    }

    private static func refundDate(_ item: ClaimedTransaction) -> UTCDate {
        item.transaction.purchase.cancellationDate ?? item.transaction.purchase.purchaseDate
    }
}

/// The parameters of the transaction history.
struct HistoryFilter: Sendable {
    enum Sort: String {
        case ascending = "ASCENDING"
        case descending = "DESCENDING"
    }

    private enum Ownership: String {
        case purchased = "PURCHASED"
        case familyShared = "FAMILY_SHARED"
    }

    let isDescending: Bool
    private let start: Int64?
    private let end: Int64?
    private let productIDs: [String]
    private let productTypes: [PurchaseContents.ProductType]
    private let subscriptionGroups: [String]
    private let ownership: [Ownership]
    private let isRevoked: Bool?

    init(_ query: APIQuery) throws(APIError) {
        start = try query.date("startDate", or: .invalidStartDate)
        end = try query.date("endDate", or: .invalidEndDate)
        if let start, let end, start >= end { throw .startDateAfterEndDate }
        productIDs = query.all("productId")
        guard !productIDs.contains("") else { throw .invalidProductID }
        productTypes = try query.all("productType").map { name throws(APIError) in
            let type = PurchaseContents.ProductType.allCases.first { $0.names.filter == name }
            guard let type else { throw .invalidProductType }
            return type
        }
        subscriptionGroups = query.all("subscriptionGroupIdentifier")
        guard subscriptionGroups.allSatisfy({ Int64($0) != nil }) else { throw .invalidSubscriptionGroup }
        ownership = try query.all("inAppOwnershipType", as: Ownership.self, or: .invalidInAppOwnershipType)
        guard ownership.count < 2 else { throw .invalidInAppOwnershipType }
        isRevoked = try query.flag("revoked", or: .invalidRevoked)
        let sort = try query.all("sort", as: Sort.self, or: .invalidSort)
        guard sort.count < 2 else { throw .invalidSort }
        isDescending = sort.first == .descending
    }

    func admits(_ transaction: SimulatedTransaction) -> Bool {
        let purchase = transaction.purchase
        let date = purchase.purchaseDate.millisecondsSince1970
        let group = transaction.subscriptionGroup ?? ""
        return start.map { date >= $0 } ?? true && end.map { date < $0 } ?? true
            && (productIDs.isEmpty || productIDs.contains(purchase.productID))
            && (productTypes.isEmpty || productTypes.contains(transaction.productType))
            && (subscriptionGroups.isEmpty || subscriptionGroups.contains(group))
            && (ownership.first.map { ($0 == .familyShared) == transaction.isFamilyShared } ?? true)
            && (isRevoked.map { $0 == (purchase.cancellationDate != nil) } ?? true)
    }
}
