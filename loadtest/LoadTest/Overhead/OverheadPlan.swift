// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// What is compared, and for how long.
struct OverheadPlan: Hashable, Sendable {
    /// For each mode, in seconds.
    let duration: Double
    /// Turns that each mode takes.
    let rounds: Int
    let connections: Int
    /// Distinct receipts, used in turn.
    let receipts: Int
    /// How long memory is watched afterwards, in minutes; nil for not at all.
    let memoryMinutes: Double?

    /// The modes that take turns.
    static let modes = [VerifyMode.local, .apple]

    /// One turn.
    var turn: Duration { .seconds(duration / Double(rounds)) }

    /// From one look at the memory to the next.
    var memoryInterval: Duration { .seconds(min(10, 6 * (memoryMinutes ?? 0))) }
}
