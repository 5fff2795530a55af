// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Customers

// Ownership of purchases, and the erasure of customers' data.
extension MetricCatalogue {
    package static let ownership = MetricFamily(
        "receipt_gateway_ownership_total", .counter,
        "Answers to requests with an account, by its relation to the purchases.",
        by: Ownership.self)
    package static let ownershipRejections = MetricFamily(
        "receipt_gateway_ownership_rejections_total", .counter,
        "Verdicts rejected because a purchase is another account's.")
    package static let fraudSuspected = MetricFamily(
        "receipt_gateway_fraud_suspected_total", .counter, "Purchases that more accounts used than permitted.")
    package static let erasures = MetricFamily(
        "receipt_gateway_erasures_total", .counter, "Requests to delete a customer's data.", by: ErasureLabel.self)
    package static let erasedEntries = MetricFamily(
        "receipt_gateway_erased_entries_total", .counter, "Stored entries that were deleted with a customer's data.",
        by: CustomerData.self)

    static let customers = [ownership, ownershipRejections, fraudSuspected, erasures, erasedEntries]
}

extension Ownership: SeriesLabels {
    package static var labelNames: [String] { ["result"] }
}

extension CustomerData: SeriesLabels {
    package static var labelNames: [String] { ["kind"] }
}

package enum ErasureLabel: String, SeriesLabels {
    case done
    /// A store did not answer. A part may be deleted.
    case failed

    package static let labelNames = ["outcome"]
}
