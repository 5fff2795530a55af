// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Receipts

/// An app's shared secret: with it anybody can read the subscriptions behind a receipt. Every description is the same.
public struct SharedSecret: Hashable, Sendable {
    /// The text itself. Each use of this name is a place to look at.
    public let exposed: String

    /// Keeps a text from now on.
    public init(_ text: String) {
        exposed = text
    }
}

extension SharedSecret {
    /// SHA-256 of the text: tells questions with different secrets apart in the keys of caches.
    var fingerprint: Fingerprint { Fingerprint(of: Array(exposed.utf8).span) }
}

extension SharedSecret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// What stands for any secret.
    public var description: String { "<redacted>" }
    /// The same.
    public var debugDescription: String { description }
    /// Empty.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
