// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Secrets

/// A client's own ID for its customer, opaque to the gateway. It is stored only as a keyed digest, and never logged.
package struct Account: Hashable, Sendable {
    package enum Limits {
        /// The UTF-8 bytes of an ID, at least 1.
        package static let bytes = 256
    }

    package let id: String

    /// Returns nil for an empty or a too long ID.
    package init?(_ id: String) {
        guard (1...Limits.bytes).contains(id.utf8.count) else { return nil }
        self.id = id
    }
}

extension Account: Redacted {
    package var description: String { "Account" }
}
