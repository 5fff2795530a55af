// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The counts of the App Store Server API in `GET /stats`.
package struct ServerAPIStats: Hashable, Sendable, Codable {
    /// Calls by endpoint, operation and outcome: `http_200`, `error_4040010`, `http_401`, `reset` and so on.
    package var calls: [String: [String: [String: Int]]] = [:]
    /// Calls with a valid token, by app, environment and operation.
    package var quotas: [Quota] = []

    package struct Quota: Hashable, Sendable, Codable {
        package let bundleId: String
        /// `production` or `sandbox`.
        package let environment: String
        package let operation: String
        package let calls: Int
        /// The calls beyond the hourly limit.
        package let refused: Int
        /// The most calls in any 3,600 seconds, without refused calls.
        package let maximumPerHour: Int
    }
}
