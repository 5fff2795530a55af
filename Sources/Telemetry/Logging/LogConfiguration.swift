// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Clients
package import Logging

package struct LogConfiguration: Hashable, Sendable {
    /// In force until an operator changes them at run time.
    package var values = LogSettings.Values()
    package var sampling = RequestSampling()

    package init() {}
}

/// The requests that get a log line.
package enum RequestLogging: String, CaseIterable, Hashable, Sendable, ConfigurationValue {
    case none
    /// Failed and slow requests, and a share of the ordinary requests.
    case sampled
    case all
}

package struct RequestSampling: Hashable, Sendable {
    package var oneIn = 100
    package var slow: Duration = .seconds(1)
    package var notablePerSecond = 10

    package init(oneIn: Int = 100, slow: Duration = .seconds(1), notablePerSecond: Int = 10) {
        (self.oneIn, self.slow, self.notablePerSecond) = (oneIn, slow, notablePerSecond)
    }
}

extension Logger.Level: ConfigurationValue {
    package init(configuration text: String) throws(ConfigurationValueFault) {
        guard let level = Logger.Level(rawValue: text) else {
            throw ConfigurationValueFault(description: "\"\(text)\" is not a log level")
        }
        self = level
    }
}
