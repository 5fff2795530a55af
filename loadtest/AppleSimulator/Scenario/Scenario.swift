// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// What happens to Apple's servers and what they know, written down in YAML; see loadtest/scenarios.
public struct Scenario: Hashable, Sendable {
    /// What chance decides follows from it.
    var seed: UInt64 = 1
    /// The password that receipts with subscriptions need; nil takes any, and none.
    var sharedSecret: String?
    /// How many seconds a `latest_receipt` is given out before it is issued and signed anew. Dates in receipts count
    /// seconds, so 1 is the same as signing each time.
    var reissueSeconds: Int64 = 1
    /// What is known beyond the receipts.
    var stories = Stories()
    /// What goes wrong, and when.
    var phases: [Phase] = []

    /// A good day: every answer is right and quick.
    public static let healthy = Scenario()
}
