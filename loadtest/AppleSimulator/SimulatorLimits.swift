// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// How much a client or a scenario may ask of the simulator.
struct SimulatorLimits: Hashable, Sendable {
    /// Bytes of one request's body: a receipt of nine megabytes in base64, and room around it.
    var maximumRequestBytes = 13 << 20
    /// Bytes of a scenario.
    var maximumScenarioBytes = 1 << 20
    /// Phases of a scenario.
    var maximumPhases = 1000
    /// Connections of both endpoints together; one more is closed at once.
    var maximumConnections = 10_000
    /// Bytes of requests and answers that are remembered.
    var maximumCachedBytes = 256 << 20
    /// Distinct receipts that are told apart in the statistics; the count stops here.
    var maximumDistinctReceipts = 1 << 20
    /// The newest periods that a story adds to a subscription.
    var maximumAddedPeriods: Int64 = 12
    /// The longest latency, and how long a client that is never answered is held.
    var maximumWait: Duration = .seconds(600)
}
