// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Secrets

/// The address of a proxy, as libcurl takes it. It may contain a user and a password, which are never shown.
package struct ProxyURL: Hashable, Sendable {
    /// The whole address, with the password: review each use.
    let exposed: String
}

extension ProxyURL: ConfigurationValue {
    package static var accepted: String { "an address such as http://proxy.internal:3128" }

    package init(configuration text: String) {
        exposed = text
    }

    /// Redacts all between the scheme and the last `@`, as any of it may be the password.
    package var configurationText: String {
        guard let at = exposed.utf8.lastIndex(of: UInt8(ascii: "@")) else { return exposed }
        let scheme = exposed.firstRange(of: "://").map { exposed[..<$0.upperBound] } ?? ""
        return scheme + Secret.redacted + exposed[at...]
    }
}

extension ProxyURL: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { configurationText }
    package var debugDescription: String { configurationText }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
