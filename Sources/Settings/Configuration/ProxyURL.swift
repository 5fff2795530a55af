// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Secrets

/// The address of a proxy, as libcurl takes it. It may hold a user and a password, which are never shown.
package struct ProxyURL: Hashable, Sendable {
    /// The whole address. Each use of this name is a place to look at.
    let exposed: String
}

extension ProxyURL: ConfigurationValue {
    package static var accepted: String { "an address such as http://proxy.internal:3128" }

    package init(configuration text: String) {
        exposed = text
    }

    /// Everything up to the last `@`, but for the scheme, may be of the password.
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
