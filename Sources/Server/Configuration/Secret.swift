// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// A text that is used and never shown: every description of it is the same.
struct Secret: Hashable, Sendable {
    /// The text itself. Each use of this name is a place to look at.
    let exposed: String

    /// Keeps a text from now on.
    init(_ text: String) {
        exposed = text
    }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// What stands for any secret.
    static let redacted = "<redacted>"

    var description: String { Self.redacted }
    var debugDescription: String { Self.redacted }
    var customMirror: Mirror { Mirror(self, children: []) }
}

extension Secret: ConfigurationValue {
    /// Enough for 128 bits in any common encoding.
    static let minimumBytes = 16

    static var isSecret: Bool { true }
    static var accepted: String { "at least \(minimumBytes) random characters, from the environment or a file" }

    init(configuration text: String) throws(ConfigurationValueFault) {
        guard text.utf8.count >= Self.minimumBytes else {
            throw ConfigurationValueFault(description: "the secret is too short")
        }
        self.init(text)
    }

    var configurationText: String { Self.redacted }
}
