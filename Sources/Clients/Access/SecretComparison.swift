// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Cryptography

extension Secret {
    /// Compares a text that was sent with this secret in constant time.
    ///
    /// Codes under a random key are compared, so that not even the lengths of the texts matter.
    package func matches(_ sent: Secret) -> Bool {
        let code = Self.comparisonKey.code(for: Array(sent.exposed.utf8).span)
        return Self.comparisonKey.isValid(code, for: Array(exposed.utf8).span)
    }

    /// The key of this process alone.
    private static let comparisonKey = HMACKey((0..<HMACKey.codeByteCount).map { _ in UInt8.random(in: .min ... .max) })
}
