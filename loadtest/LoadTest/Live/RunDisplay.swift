// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import FoundationEssentials
internal import Glibc

/// The display of a run in progress on standard error: a live view on a terminal, else a line per second.
final class RunDisplay {
    private var isQuiet: Bool
    private var live: (screen: LiveScreen, view: LiveView)?
    private var keys: KeyWatch?

    struct Options {
        let marks: [RunResult.Mark]
        var isQuiet = false
        /// True if there is no live view, even on a terminal.
        var isPlain = false
    }

    /// - Parameter stop: called on a thread of its own when `q` is pressed.
    init(_ plan: LoadPlan, _ options: Options, stop: @escaping @Sendable () -> Void) {
        isQuiet = options.isQuiet
        guard !options.isQuiet, !options.isPlain, ProgressStream.isTerminal else { return }
        keys = KeyWatch { key in
            if key == UInt8(ascii: "q") || key == UInt8(ascii: "Q") { stop() }
        }
        let view = LiveView(plan: plan, marks: options.marks, hasColours: LiveScreen.hasColours, listens: keys != nil)
        live = (LiveScreen(), view)
    }

    deinit {
        end()
    }

    func show(_ second: RunResult.Second, _ counts: RequestCounts) {
        live?.view.add(second, counts)
        if let lines = live?.view.lines(width: LiveScreen.width) {
            live?.screen.draw(lines)
        } else if !isQuiet {
            ProgressStream.write(second.line + "\n")
        }
    }

    func end() {
        keys = nil
        guard live != nil else { return }
        live?.screen.clear()
        (live, isQuiet) = (nil, true)
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

    mutating func draw(_ lines: [String]) {
        // Hide the cursor, go up to the first line, and clear the rest of each line (ECMA-48 §8.3.22, §8.3.41).
        let up = drawn > 0 ? "\u{1B}[\(drawn)A" : ""
        ProgressStream.write("\u{1B}[?25l" + up + "\r" + lines.map { $0 + "\u{1B}[K\n" }.joined() + "\u{1B}[J")
        drawn = lines.count
    }

    mutating func clear() {
        let up = drawn > 0 ? "\u{1B}[\(drawn)A" : ""
        ProgressStream.write(up + "\r\u{1B}[J\u{1B}[?25h")
        drawn = 0
    }
}

/// Reads keys from a terminal as they are pressed.
///
/// SAFETY: the terminal's settings are read before they are changed, and restored once, in `deinit`.
final class KeyWatch {
    private let before: termios
    private let keys: any DispatchSourceRead

    /// Calls `press` on a thread of its own for each key; nil without a terminal.
    init?(_ press: @escaping @Sendable (UInt8) -> Void) {
        var settings = termios()
        guard isatty(STDIN_FILENO) == 1, getpgrp() == tcgetpgrp(STDIN_FILENO),
            unsafe tcgetattr(STDIN_FILENO, &settings) == 0
        else { return nil }
        before = settings
        // Keys come without Return and are not shown; ^C stays a signal.
        settings.c_lflag &= ~tcflag_t(ICANON | ECHO)
        guard unsafe tcsetattr(STDIN_FILENO, TCSANOW, &settings) == 0 else { return nil }
        let keys = DispatchSource.makeReadSource(fileDescriptor: STDIN_FILENO, queue: .global())
        keys.setEventHandler {
            var key: UInt8 = 0
            // A terminal that is gone would call again and again.
            guard unsafe read(STDIN_FILENO, &key, 1) == 1 else { return keys.cancel() }
            press(key)
        }
        keys.activate()
        self.keys = keys
    }

    deinit {
        keys.cancel()
        var settings = before
        _ = unsafe tcsetattr(STDIN_FILENO, TCSANOW, &settings)
    }
}
