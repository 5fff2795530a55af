// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Glibc

/// File descriptor 2.
enum StandardError {
    /// Whether somebody watches a screen that can redraw a line.
    static let isTerminal = isatty(STDERR_FILENO) == 1 && ProcessInfo.processInfo.environment["TERM"] != "dumb"

    /// Writes as much of the text as the descriptor takes; nobody waits for progress.
    static func write(_ text: String) {
        let bytes = Array(text.utf8)
        _ = unsafe Glibc.write(STDERR_FILENO, bytes, bytes.count)
    }

    /// Says that nothing should be measured with these programs, if they are built so.
    static func warnOfDebugging() {
        #if DEBUG
            write("These programs are built for debugging, so the figures mean little: use make build.\n")
        #endif
    }
}
