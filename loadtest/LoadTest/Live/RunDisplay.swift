// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

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
        _ plan: LoadPlan, marks: [MarkOption], isQuiet: Bool, isPlain: Bool, stop: @escaping @Sendable () -> Void
    ) {
        guard !isQuiet, !isPlain, LiveScreen.isPossible else {
            kind = isQuiet ? .none : .lines
            keys = nil
            return
        }
        keys = KeyWatch { key in
            if key == UInt8(ascii: "q") || key == UInt8(ascii: "Q") { stop() }
        }
        let view = LiveView(
            plan: plan, marks: marks, hasColours: LiveScreen.hasColours, listens: keys != nil)
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
