// SPDX-License-Identifier: Apache-2.0

/// A text that is never shown: all secrets have the same description.
package struct Secret: Hashable, Sendable, Redacted, CustomDebugStringConvertible {
    /// The text itself. Review each use of this property.
    package let exposed: String

    package init(_ text: String) { exposed = text }

    /// Compares a text that was sent with this secret in constant time.
    ///
    /// Codes under a random key are compared, so that not even the lengths of the texts matter.
    package func matches(_ sent: Secret) -> Bool {
        let code = Self.comparisonKey.code(for: Array(sent.exposed.utf8).span)
        return Self.comparisonKey.isValid(code, for: Array(exposed.utf8).span)
    }

    /// The key of this process alone. Not from `SecureRandom`, which traps where libcrypto has no generator: secrets are
    /// compared before the gateway's start and the doctor report that.
    private static let comparisonKey = HMACKey((0..<HMACKey.codeByteCount).map { _ in UInt8.random(in: .min ... .max) })

    package static let redacted = "<redacted>"

    package var description: String { Self.redacted }
    package var debugDescription: String { Self.redacted }
}

/// A value whose description shows nothing that identifies a customer or a client. Reflection shows nothing either.
package protocol Redacted: CustomStringConvertible, CustomReflectable {}

extension Redacted {
    package var description: String { "\(Self.self)" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
