// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// An auto-renewable product and the length of one period.
struct SubscriptionPlan: Sendable {
    let productID: String
    let days: Int64

    private static let periods: [(name: String, days: Int64)] = [
        ("weekly", 7), ("monthly", 30), ("quarterly", 91), ("yearly", 365),
    ]

    static func random(bundleID: String, using generator: inout SplitMix64) -> SubscriptionPlan {
        let tier = generator.element(of: Vocabulary.tiers)
        let period = generator.element(of: periods)
        return SubscriptionPlan(productID: "\(bundleID).\(tier).\(period.name)", days: period.days)
    }
}
