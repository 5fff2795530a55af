// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// The stage of the process, for the listeners and `/readyz`. It only moves forward.
package final class ServerLifecycle: Sendable {
    /// The stages, in order.
    package enum Stage: Int, CaseIterable, Comparable, Sendable {
        case starting, ready, draining

        package static func < (left: Stage, right: Stage) -> Bool { left.rawValue < right.rawValue }
    }

    private let current = Mutex(Stage.starting)

    package init() {}

    package var stage: Stage { current.withLock { $0 } }

    /// Moves to a later stage; an earlier one is ignored.
    package func advance(to stage: Stage) {
        current.withLock { $0 = max($0, stage) }
    }
}
