// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// An event in the check of ownership, for metrics.
package enum OwnershipEvent: Hashable, Sendable {
    /// An answer was checked for an account.
    case checked(Ownership)
    /// An answer was rejected because a purchase is bound to another account.
    case rejected
    /// `fraud.suspected` was written to the log.
    case fraudSuspected
}

/// Observes the check of ownership.
package typealias OwnershipObserver = @Sendable (OwnershipEvent) -> Void
