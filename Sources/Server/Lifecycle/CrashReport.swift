// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Clients

/// The report that Swift's runtime writes to standard error at a crash.
enum CrashReport {
    private static let variable = "SWIFT_BACKTRACE"

    /// Leaves memory out of the report: by default it has the bytes that registers point to, which may be evidence or a
    /// key. The runtime reads its options before the program begins, so the process starts anew, once. Options of the
    /// operator that say something about registers stay.
    static func leaveOutMemory() {
        let options = CLibrary.environment(variable) ?? ""
        guard !options.contains("registers=") else { return }
        let all = options.isEmpty ? "registers=none" : "\(options),registers=none"
        CLibrary.startAnew(setting: variable, to: all)
    }
}
