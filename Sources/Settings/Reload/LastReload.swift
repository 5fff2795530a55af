// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Receipts
internal import Synchronization

/// Why the configuration is read again.
package enum ReloadOccasion: String, Sendable {
    /// Somebody sent SIGHUP.
    case signal
    /// A look at the files is due; it reads them if they changed.
    case look
}

/// What came of reading the configuration again.
package enum ReloadResult: String, CaseIterable, Sendable {
    /// What it says is in force.
    case success
    /// Something is wrong with it: what was in force still is.
    case refused
    /// It says what is in force already.
    case unchanged
}

/// The last reload, for whoever shows how the gateway stands.
package struct LastReload: Hashable, Sendable {
    /// When it was.
    package var time: Timestamp
    /// What came of it.
    package var result: ReloadResult
    /// What was wrong, one sentence each; empty unless it was refused.
    package var problems: [String] = []
    /// The settings that took effect.
    package var changed: [String] = []
    /// The settings that differ from those in force and wait for a restart.
    package var awaitingRestart: [String] = []
}

/// Remembers the last reload.
package final class ReloadHistory: Sendable {
    private let state = Mutex<LastReload?>(nil)

    /// Nothing was reloaded yet.
    package init() {}

    /// The last one; nil if there was none since the start.
    package var last: LastReload? { state.withLock { $0 } }

    /// Takes note of one.
    package func record(_ reload: LastReload) {
        state.withLock { $0 = reload }
    }
}
