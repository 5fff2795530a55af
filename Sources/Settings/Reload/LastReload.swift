// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Receipts
internal import Synchronization

/// The reason for a reload.
package enum ReloadOccasion: String, Sendable {
    /// SIGHUP.
    case signal
    /// A periodic look at the files, which reads them if they changed.
    case look
}

/// The result of a reload.
package enum ReloadResult: String, CaseIterable, Sendable {
    /// The new configuration is in force.
    case success
    /// The new configuration has problems; the previous one stays in force.
    case refused
    case unchanged
}

/// The last reload, for metrics and the status page.
package struct LastReload: Hashable, Sendable {
    package var time: Timestamp
    package var result: ReloadResult
    /// The problems, one sentence each; empty unless rejected.
    package var problems: [String] = []
    package var changed: [String] = []
    /// The changed settings that take effect after a restart only.
    package var awaitingRestart: [String] = []
}

/// Stores the last reload.
package final class ReloadHistory: Sendable {
    private let state = Mutex<LastReload?>(nil)

    package init() {}

    /// The last reload; nil if there was none since the start.
    package var last: LastReload? { state.withLock { $0 } }

    package func record(_ reload: LastReload) {
        state.withLock { $0 = reload }
    }
}
