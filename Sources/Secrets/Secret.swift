// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// A text that is never shown: all its descriptions are the same.
public struct Secret: Hashable, Sendable {
    /// The text itself. Review each use of this property.
    public let exposed: String

    /// Wraps a text.
    public init(_ text: String) {
        exposed = text
    }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The description of any secret.
    public static let redacted = "<redacted>"

    /// `redacted`.
    public var description: String { Self.redacted }
    /// `redacted`.
    public var debugDescription: String { Self.redacted }
    /// Empty.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
