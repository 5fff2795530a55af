// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// Shows progress on standard error: one line drawn again and again on a terminal, elsewhere at most a line per second.
final class ProgressLine {
    private let clock = ContinuousClock()
    private let start: ContinuousClock.Instant
    private var meter: ProgressMeter
    private var isDrawn = false

    /// Progress of a job that begins now.
    init(unit: String, total: Int) {
        start = clock.now
        let interval: Duration = StandardError.isTerminal ? .milliseconds(100) : .seconds(1)
        meter = ProgressMeter(unit: unit, total: total, interval: interval)
    }

    /// Tells that so many are done.
    func update(done: Int) {
        guard let line = meter.line(done: done, elapsed: clock.now - start) else { return }
        // CSI K erases what a longer line left (ECMA-48 §8.3.41).
        StandardError.write(StandardError.isTerminal ? "\r\(line)\u{1B}[K" : line + "\n")
        isDrawn = true
    }

    /// Takes the line off a terminal, so that results stand alone.
    func finish() {
        if isDrawn, StandardError.isTerminal { StandardError.write("\r\u{1B}[K") }
        isDrawn = false
    }
}
