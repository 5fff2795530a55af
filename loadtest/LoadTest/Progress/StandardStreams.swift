// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Glibc

enum ProgressStream {
    /// True if it is a screen on which a line can be redrawn.
    static let isTerminal = isatty(STDERR_FILENO) == 1 && ProcessInfo.processInfo.environment["TERM"] != "dumb"

    /// Writes as much of the text as the descriptor takes, without waiting.
    static func write(_ text: String) {
        let bytes = Array(text.utf8)
        _ = unsafe Glibc.write(STDERR_FILENO, bytes, bytes.count)
    }

    /// Warns that figures of programs built for debugging mean little.
    static func warnOfDebugging() {
        #if DEBUG
            write("These programs are built for debugging, so the figures mean little: use make build.\n")
        #endif
    }
}

/// File descriptor 1, without the buffer in which `print` keeps lines from a pipe's reader.
enum StandardOutput {
    /// Writes a text of a few lines; a closed pipe is ignored.
    static func write(_ text: String) {
        let bytes = Array(text.utf8)
        _ = unsafe Glibc.write(STDOUT_FILENO, bytes, bytes.count)
    }
}
