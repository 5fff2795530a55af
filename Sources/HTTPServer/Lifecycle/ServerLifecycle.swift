// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// The stage of the process, for the listeners and `/readyz`. It only moves forward.
package final class ServerLifecycle: Sendable {
    package enum Stage: CaseIterable, Comparable, Sendable {
        case starting, ready, draining
    }

    private let current = Mutex(Stage.starting)

    package init() {}

    package var stage: Stage { current.withLock { $0 } }

    package func advance(to stage: Stage) {
        current.withLock { $0 = max($0, stage) }
    }
}
