// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// A text that is used and never shown: every description of it is the same.
public struct Secret: Hashable, Sendable {
    /// The text itself. Each use of this name is a place to look at.
    public let exposed: String

    /// Keeps a text from now on.
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
