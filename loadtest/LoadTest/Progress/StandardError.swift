// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Glibc

/// File descriptor 2.
enum StandardError {
    /// True if it is a terminal that can redraw a line.
    static let isTerminal = isatty(STDERR_FILENO) == 1 && ProcessInfo.processInfo.environment["TERM"] != "dumb"

    /// Writes as much of the text as the descriptor accepts; progress does not block.
    static func write(_ text: String) {
        let bytes = Array(text.utf8)
        _ = unsafe Glibc.write(STDERR_FILENO, bytes, bytes.count)
    }

    /// Writes a warning if this program was built for debugging.
    static func warnOfDebugging() {
        #if DEBUG
            write("These programs are built for debugging: their figures mean little. Use make build.\n")
        #endif
    }
}
