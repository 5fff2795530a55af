// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Glibc

/// Lines at the lower end of a terminal that are redrawn, on standard error.
struct LiveScreen {
    private var drawn = 0

    /// True if standard error is a terminal that can redraw lines.
    static var isPossible: Bool { StandardError.isTerminal }

    /// True unless the operator set `NO_COLOR` (https://no-color.org).
    static var hasColours: Bool { ProcessInfo.processInfo.environment["NO_COLOR", default: ""].isEmpty }

    /// The width of the terminal; 80 if it is unknown.
    static var width: Int {
        var size = winsize()
        guard unsafe ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
        return Int(size.ws_col)
    }

    /// Replaces the lines drawn before.
    mutating func draw(_ lines: [String]) {
        // Hide the cursor, go up to the first line, and clear the rest of each line (ECMA-48 §8.3.22, §8.3.41).
        let up = drawn > 0 ? "\u{1B}[\(drawn)A" : ""
        StandardError.write("\u{1B}[?25l" + up + "\r" + lines.map { $0 + "\u{1B}[K\n" }.joined() + "\u{1B}[J")
        drawn = lines.count
    }

    /// Removes the lines and shows the cursor.
    mutating func clear() {
        let up = drawn > 0 ? "\u{1B}[\(drawn)A" : ""
        StandardError.write(up + "\r\u{1B}[J\u{1B}[?25h")
        drawn = 0
    }
}
