// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Where the process is in its life. The listeners and `/readyz` look at it; it only ever moves forward.
final class ServerLifecycle: Sendable {
    /// The stages, in order.
    enum Stage: Int, CaseIterable, Comparable, Sendable {
        case starting, ready, draining

        static func < (left: Stage, right: Stage) -> Bool { left.rawValue < right.rawValue }
    }

    private let current = Mutex(Stage.starting)

    /// The stage now.
    var stage: Stage { current.withLock { $0 } }

    /// Moves to a later stage; an earlier one is ignored.
    func advance(to stage: Stage) {
        current.withLock { $0 = max($0, stage) }
    }
}
