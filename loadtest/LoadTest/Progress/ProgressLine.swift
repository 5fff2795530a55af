// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// Progress on standard error: one line redrawn on a terminal, elsewhere at most a line per second.
final class ProgressLine {
    private let clock = ContinuousClock()
    private let start: ContinuousClock.Instant
    private var meter: ProgressMeter
    private var isDrawn = false

    /// Starts a job of this many units.
    init(unit: String, total: Int) {
        start = clock.now
        let interval: Duration = StandardError.isTerminal ? .milliseconds(100) : .seconds(1)
        meter = ProgressMeter(unit: unit, total: total, interval: interval)
    }

    /// Shows the progress if the last line is old enough.
    func update(done: Int) {
        guard let line = meter.line(done: done, elapsed: clock.now - start) else { return }
        // CSI K erases the rest of a longer line (ECMA-48 §8.3.41).
        StandardError.write(StandardError.isTerminal ? "\r\(line)\u{1B}[K" : line + "\n")
        isDrawn = true
    }

    /// Removes the line from a terminal.
    func finish() {
        if isDrawn, StandardError.isTerminal { StandardError.write("\r\u{1B}[K") }
        isDrawn = false
    }
}
