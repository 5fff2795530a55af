// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The address of a proxy, as libcurl takes it. It may hold a user and a password, which are never shown.
struct ProxyURL: Hashable, Sendable {
    /// The whole address. Each use of this name is a place to look at.
    let exposed: String
}

extension ProxyURL: ConfigurationValue {
    static var accepted: String { "an address such as http://proxy.internal:3128" }

    init(configuration text: String) {
        exposed = text
    }

    /// Everything up to the last `@`, but for the scheme, may be of the password.
    var configurationText: String {
        guard let at = exposed.utf8.lastIndex(of: UInt8(ascii: "@")) else { return exposed }
        let scheme = exposed.firstRange(of: "://").map { exposed[..<$0.upperBound] } ?? ""
        return scheme + Secret.redacted + exposed[at...]
    }
}

extension ProxyURL: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    var description: String { configurationText }
    var debugDescription: String { configurationText }
    var customMirror: Mirror { Mirror(self, children: []) }
}
