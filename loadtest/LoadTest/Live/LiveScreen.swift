// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Glibc

/// Lines at the lower end of a terminal that are drawn again and again, on standard error.
struct LiveScreen {
    private var drawn = 0

    /// Whether somebody watches a terminal that can be drawn on.
    static var isPossible: Bool { StandardError.isTerminal }

    /// Whether colours are wanted (https://no-color.org).
    static var hasColours: Bool { ProcessInfo.processInfo.environment["NO_COLOR", default: ""].isEmpty }

    /// The width of the terminal; 80 if it does not say.
    static var width: Int {
        var size = winsize()
        guard unsafe ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
        return Int(size.ws_col)
    }

    /// Draws the lines over those drawn before.
    mutating func draw(_ lines: [String]) {
        // Hide the cursor; up to the first line; each line, and what an earlier one left of it (ECMA-48 §8.3.22, §8.3.41).
        let up = drawn > 0 ? "\u{1B}[\(drawn)A" : ""
        StandardError.write("\u{1B}[?25l" + up + "\r" + lines.map { $0 + "\u{1B}[K\n" }.joined() + "\u{1B}[J")
        drawn = lines.count
    }

    /// Takes everything off, and shows the cursor again.
    mutating func clear() {
        let up = drawn > 0 ? "\u{1B}[\(drawn)A" : ""
        StandardError.write(up + "\r\u{1B}[J\u{1B}[?25h")
        drawn = 0
    }
}
