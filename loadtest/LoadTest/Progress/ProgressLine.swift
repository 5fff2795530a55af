// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Glibc

/// Progress on standard error: one line that is redrawn on a terminal, elsewhere at most a line per second.
final class ProgressLine {
    private let start = ContinuousClock.now
    private var meter: ProgressMeter
    private var isDrawn = false

    init(unit: String, total: Int) {
        let interval: Duration = ProgressStream.isTerminal ? .milliseconds(100) : .seconds(1)
        meter = ProgressMeter(unit: unit, total: total, interval: interval)
    }

    func update(done: Int) {
        guard let line = meter.line(done: done, elapsed: ContinuousClock.now - start) else { return }
        ProgressStream.isTerminal ? ProgressStream.redraw(line) : ProgressStream.write(line + "\n")
        isDrawn = true
    }

    /// Removes the line, so that results stand alone.
    deinit {
        if isDrawn { ProgressStream.redraw("") }
    }
}

/// The texts of progress, at intervals. Time is an argument.
struct ProgressMeter {
    let unit: String
    let total: Int
    let interval: Duration
    /// Short jobs show nothing, and the first moments of a long job foretell nothing.
    private(set) var nextLine = Duration.seconds(1)

    /// Returns the text for so many done in so much time, or nil if the last text is recent.
    mutating func line(done: Int, elapsed: Duration) -> String? {
        guard done > 0, elapsed >= nextLine else { return nil }
        nextLine = elapsed + interval
        return text(done: done, elapsed: elapsed)
    }

    private func text(done: Int, elapsed: Duration) -> String {
        let share = Int(100 * Double(done) / Double(total))
        let remaining = elapsed.seconds / Double(done) * Double(total - done)
        return "\(share) %, \(done.grouped) of \(total.grouped) \(unit), about \(Self.rough(remaining)) left"
    }

    private static func rough(_ seconds: Double) -> String {
        seconds < 120 ? "\(Int(seconds.rounded(.up))) s" : "\(Int((seconds / 60).rounded())) min"
    }
}

enum ProgressStream {
    static let isTerminal = isatty(STDERR_FILENO) == 1 && ProcessInfo.processInfo.environment["TERM"] != "dumb"

    /// Writes as much of the text as the descriptor takes, without waiting.
    static func write(_ text: String) {
        let bytes = Array(text.utf8)
        _ = unsafe Glibc.write(STDERR_FILENO, bytes, bytes.count)
    }

    /// Replaces the line of a terminal; does nothing elsewhere.
    static func redraw(_ line: String) {
        // CSI K erases what a longer line left (ECMA-48 §8.3.41).
        if isTerminal { write("\r\(line)\u{1B}[K") }
    }

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
