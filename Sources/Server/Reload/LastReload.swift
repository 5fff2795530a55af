// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Receipts
internal import Synchronization

/// Why the configuration is read again.
enum ReloadOccasion: String, Sendable {
    /// Somebody sent SIGHUP.
    case signal
    /// A look at the files is due; it reads them if they changed.
    case look
}

/// What came of reading the configuration again.
enum ReloadResult: String, CaseIterable, Sendable {
    /// What it says is in force.
    case success
    /// Something is wrong with it: what was in force still is.
    case refused
    /// It says what is in force already.
    case unchanged
}

/// The last reload, for whoever shows how the gateway stands.
struct LastReload: Hashable, Sendable {
    /// When it was.
    var time: Timestamp
    /// What came of it.
    var result: ReloadResult
    /// What was wrong, one sentence each; empty unless it was refused.
    var problems: [String] = []
    /// The settings that took effect.
    var changed: [String] = []
    /// The settings that differ from those in force and wait for a restart.
    var awaitingRestart: [String] = []
}

/// Remembers the last reload.
final class ReloadLedger: Sendable {
    private let state = Mutex<LastReload?>(nil)

    /// The last one; nil if there was none since the start.
    var last: LastReload? { state.withLock { $0 } }

    /// Takes note of one.
    func record(_ reload: LastReload) {
        state.withLock { $0 = reload }
    }
}
