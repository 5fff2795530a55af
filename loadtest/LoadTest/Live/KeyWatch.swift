// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import NIOCore
internal import NIOPosix
internal import Synchronization

/// Reads keys from a terminal as they are pressed.
///
/// SAFETY: the terminal's settings are read before they are changed, and restored once, in `deinit` at the latest.
final class KeyWatch {
    private let before: termios
    private let ending: Ending
    private let listening: EventLoopFuture<Void>
    private var isOver = false

    /// True if standard input is a terminal of this process.
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

    /// Stops reading and restores the terminal.
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
