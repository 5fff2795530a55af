// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The faults and knowledge of the simulated servers, read from YAML; see loadtest/scenarios.
public struct Scenario: Hashable, Sendable {
    /// The seed of all random decisions.
    var seed: UInt64 = 1
    /// The password that receipts with subscriptions require; nil accepts any, and none.
    var sharedSecret: String?
    /// The number of seconds for which a `latest_receipt` is reused before it is issued and signed again. Dates in
    /// receipts have whole seconds, so 1 signs each time.
    var reissueSeconds: Int64 = 1
    /// Apple's knowledge beyond the receipts.
    var stories = Stories()
    /// The faults by time.
    var phases: [Phase] = []

    /// A scenario without faults: every answer is correct and immediate.
    public static let healthy = Scenario()
}
