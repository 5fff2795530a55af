// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Glibc

/// The display of a run in progress on standard error: a live view on a terminal, else a line per second.
final class RunDisplay {
    private var kind: Kind
    private let keys: KeyWatch?

    private enum Kind {
        case none, lines
        case live(LiveScreen, LiveView)
    }

    /// - Parameters:
    ///   - isQuiet: True if nothing is shown.
    ///   - isPlain: True if there is no live view, even on a terminal.
    ///   - stop: Called on a thread of its own when `q` is pressed.
    init(
        _ plan: LoadPlan, marks: [RunResult.Mark], isQuiet: Bool, isPlain: Bool, stop: @escaping @Sendable () -> Void
    ) {
        guard !isQuiet, !isPlain, StandardError.isTerminal else {
            kind = isQuiet ? .none : .lines
            keys = nil
            return
        }
        keys = KeyWatch { key in
            if key == UInt8(ascii: "q") || key == UInt8(ascii: "Q") { stop() }
        }
        let view = LiveView(plan: plan, marks: marks, hasColours: LiveScreen.hasColours, listens: keys != nil)
        kind = .live(LiveScreen(), view)
    }

    deinit {
        end()
    }

    func show(_ second: RunResult.Second, _ counts: RequestCounts) {
        switch kind {
        case .none: break
        case .lines: StandardError.write(second.line + "\n")
        case .live(var screen, var view):
            view.add(second, counts)
            screen.draw(view.lines(width: LiveScreen.width))
            kind = .live(screen, view)
        }
    }

    /// Restores the terminal.
    func end() {
        keys?.end()
        guard case .live(var screen, _) = kind else { return }
        screen.clear()
        kind = .none
    }
}

/// Lines at the lower end of a terminal that are redrawn, on standard error.
struct LiveScreen {
    private var drawn = 0

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
