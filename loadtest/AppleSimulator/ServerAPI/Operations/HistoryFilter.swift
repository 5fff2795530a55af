// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import ReceiptForge

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
    private let productTypes: [ProductTypeFilter]
    private let subscriptionGroups: [String]
    private let ownership: [Ownership]
    private let isRevoked: Bool?

    init(_ query: APIQuery) throws(APIError) {
        start = try query.date("startDate", or: .invalidStartDate)
        end = try query.date("endDate", or: .invalidEndDate)
        if let start, let end, start >= end { throw .startDateAfterEndDate }
        productIDs = query.all("productId")
        guard !productIDs.contains("") else { throw .invalidProductID }
        productTypes = try query.all("productType", as: ProductTypeFilter.self, or: .invalidProductType)
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
            && (productTypes.isEmpty || productTypes.contains(transaction.typeFilter))
            && (subscriptionGroups.isEmpty || subscriptionGroups.contains(group))
            && (ownership.first.map { ($0 == .familyShared) == transaction.isFamilyShared } ?? true)
            && (isRevoked.map { $0 == (purchase.cancellationDate != nil) } ?? true)
    }
}
