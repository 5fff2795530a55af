// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// How often the simulator was asked.
public struct Stats: Hashable, Sendable, Codable {
    /// Calls of verifyReceipt at the production endpoint, those that met a fault included.
    public var production = 0
    /// Calls of verifyReceipt at the sandbox endpoint, those that met a fault included.
    public var sandbox = 0
    /// Receipts that were asked about, however often and in whatever encoding.
    public var distinctReceipts = 0

    /// The keys of `GET /stats`.
    enum CodingKeys: String, CodingKey {
        case production, sandbox
        case distinctReceipts = "distinct_receipts"
    }
}

/// What `GET /stats/details` adds.
public struct StatsDetails: Hashable, Sendable, Codable {
    /// Calls by endpoint and by what became of them: `status_0`, `status_21007`, `http_503`, `reset` and so on.
    public var outcomes: [String: [String: Int]] = [:]
    /// Calls that wait for the end of their answer now.
    public var inFlight = 0
    /// The most there ever were at once.
    public var maximumInFlight = 0
    /// Connections that are open now.
    public var openConnections = 0
    /// Connections that were ever opened.
    public var connections = 0
    /// Connections that were shown a certificate that does not verify.
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
