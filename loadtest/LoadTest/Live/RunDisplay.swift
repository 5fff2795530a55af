// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Glibc
internal import NIOCore
internal import NIOPosix
internal import Synchronization

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
        guard !isQuiet, !isPlain, ProgressStream.isTerminal else {
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
        case .lines: ProgressStream.write(second.line + "\n")
        case .live(var screen, var view):
            view.add(second, counts)
            screen.draw(view.lines(width: LiveScreen.width))
            kind = .live(screen, view)
        }
    }

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
/// SAFETY: the terminal's settings are read before they are changed, and restored once, in `deinit` at the latest.
final class KeyWatch {
    private let before: termios
    private let ending: Ending
    private let listening: EventLoopFuture<Void>
    private var isOver = false

    static var isPossible: Bool { isatty(STDIN_FILENO) == 1 && getpgrp() == tcgetpgrp(STDIN_FILENO) }

    /// Calls `press` on a thread of its own for each key; nil without a terminal.
    init?(_ press: @escaping @Sendable (UInt8) -> Void) {
        var settings = termios()
        guard Self.isPossible, unsafe tcgetattr(STDIN_FILENO, &settings) == 0 else { return nil }
        let before = settings
        // Keys come without Return and are not shown; ^C stays a signal.
        settings.c_lflag &= ~tcflag_t(ICANON | ECHO)
        guard unsafe tcsetattr(STDIN_FILENO, TCSANOW, &settings) == 0 else { return nil }
        let ending = Ending()
        self.before = before
        self.ending = ending
        listening = NIOThreadPool.singleton.runIfActive(eventLoop: MultiThreadedEventLoopGroup.singleton.next()) {
            Self.listen(ending, press)
        }
    }

    deinit {
        end()
    }

    func end() {
        guard !isOver else { return }
        isOver = true
        ending.isWanted.withLock { $0 = true }
        try? listening.wait()
        var settings = before
        _ = unsafe tcsetattr(STDIN_FILENO, TCSANOW, &settings)
    }

    private final class Ending: Sendable {
        let isWanted = Mutex(false)
    }

    private static func listen(_ ending: Ending, _ press: (UInt8) -> Void) {
        while !ending.isWanted.withLock({ $0 }) {
            var events = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
            // In milliseconds: the longest time that end() waits for this thread.
            guard unsafe poll(&events, 1, 100) > 0 else { continue }
            var key: UInt8 = 0
            guard unsafe read(STDIN_FILENO, &key, 1) == 1 else { return }
            press(key)
        }
    }
}
