// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// A value whose description shows nothing that identifies a customer or a client. Reflection shows nothing either.
public protocol Redacted: CustomStringConvertible, CustomReflectable {}

extension Redacted {
    /// The type's name.
    public var description: String { "\(Self.self)" }
    /// Empty.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
