// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// What is rehearsed.
struct RehearsalPlan: Hashable, Sendable {
    /// In seconds.
    let duration: Double
    /// Requests per second.
    let rate: Double
    /// Distinct receipts.
    let receipts: Int
    let mode: VerifyMode
    /// The oldest answer that clients take, in seconds.
    let maximumAge: Int
    /// Rows of the table.
    let rows: Int

    /// Everything random follows from it.
    static let seed: UInt64 = 1

    /// Requests in all.
    var requests: Int { max(1, Int(duration * rate)) }

    /// Room for a gateway that takes five seconds for each answer.
    var connections: Int { max(8, Int(5 * rate)) }

    /// From one row to the next.
    var interval: Duration { .seconds(duration / Double(rows)) }
}
