// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// An event in the erasure of customers' data, for metrics.
package enum ErasureEvent: Hashable, Sendable {
    case done(ErasureCount)
    /// A store was unreachable. A repetition completes it.
    case failed
}

/// Observes the erasure of customers' data.
package typealias ErasureObserver = @Sendable (ErasureEvent) -> Void
