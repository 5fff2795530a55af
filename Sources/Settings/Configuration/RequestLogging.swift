// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The requests that get a log line.
package enum RequestLogging: String, CaseIterable, Hashable, Sendable, ConfigurationValue {
    case none
    /// Failed and slow requests, and a share of the others.
    case sampled
    case all
}

/// The sampling rules for request log lines.
package struct RequestSampling: Hashable, Sendable {
    /// One in so many ordinary requests gets a line.
    package var oneIn = 100
    /// The duration from which a request counts as slow.
    package var slow: Duration = .seconds(1)
    /// The maximum lines per second for each kind of notable request.
    package var notablePerSecond = 10

    package init(oneIn: Int = 100, slow: Duration = .seconds(1), notablePerSecond: Int = 10) {
        self.oneIn = oneIn
        self.slow = slow
        self.notablePerSecond = notablePerSecond
    }
}
