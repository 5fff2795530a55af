// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The counts of requests to the simulator.
public struct Stats: Hashable, Sendable, Codable {
    /// Calls of verifyReceipt at the production endpoint, including those with a fault.
    public var production = 0
    /// Calls of verifyReceipt at the sandbox endpoint, including those with a fault.
    public var sandbox = 0
    /// Distinct receipts in requests, in any encoding.
    public var distinctReceipts = 0

    /// The keys of `GET /stats`.
    enum CodingKeys: String, CodingKey {
        case production, sandbox
        case distinctReceipts = "distinct_receipts"
    }
}

/// The additional counts of `GET /stats/details`.
public struct StatsDetails: Hashable, Sendable, Codable {
    /// Calls by endpoint and outcome: `status_0`, `status_21007`, `http_503`, `reset` and so on.
    public var outcomes: [String: [String: Int]] = [:]
    /// Calls whose answer is not complete.
    public var inFlight = 0
    /// The maximum of calls in flight.
    public var maximumInFlight = 0
    /// Connections open now.
    public var openConnections = 0
    /// Connections opened so far.
    public var connections = 0
    /// Connections that got an invalid certificate.
    public var wrongCertificates = 0

    /// The keys of `GET /stats/details`.
    enum CodingKeys: String, CodingKey {
        case outcomes, connections
        case inFlight = "in_flight"
        case maximumInFlight = "maximum_in_flight"
        case openConnections = "open_connections"
        case wrongCertificates = "wrong_certificates"
    }
}
