// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// Which requests get a log line.
package enum RequestLogging: String, CaseIterable, Hashable, Sendable, ConfigurationValue {
    /// No request.
    case none
    /// Those that failed or were slow, and a share of the others.
    case sampled
    /// All of them.
    case all
}

/// Which requests get a line where not all of them do.
package struct RequestSampling: Hashable, Sendable {
    /// Of the requests that are nothing special, one in so many gets a line.
    package var oneIn = 100
    /// From here on a request is slow.
    package var slow: Duration = .seconds(1)
    /// The most lines a second of each of those that are something special.
    package var notablePerSecond = 10

    /// Creates the rules of sampling.
    package init(oneIn: Int = 100, slow: Duration = .seconds(1), notablePerSecond: Int = 10) {
        self.oneIn = oneIn
        self.slow = slow
        self.notablePerSecond = notablePerSecond
    }
}
