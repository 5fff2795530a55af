// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Logging
internal import Settings
internal import Synchronization

/// Log lines on their way to a reader that may be slow, or not read at all. Whoever logs leaves the line here and goes
/// on; one thread writes. When the queue is full lines are dropped, and their number is logged once the reader goes on.
package final class LogQueue: Sendable {
    /// How much may wait, and for how long.
    struct Limits: Sendable {
        /// The lines that wait; as much again is being written.
        var waiting = ByteCount.mebibytes(1)
        /// How long the end of the process waits for a reader.
        var flush = DispatchTimeInterval.seconds(2)
    }

    private let limits: Limits
    private let write: @Sendable ([UInt8]) -> Void
    private let lines: Mutex<WaitingLines>
    private let dropped = Atomic<Int>(0)
    private let writer = DispatchQueue(label: "log")

    /// A queue in front of `write`, which takes whole lines and may wait as long as it likes.
    init(limits: Limits = Limits(), write: @escaping @Sendable ([UInt8]) -> Void) {
        self.limits = limits
        self.write = write
        lines = Mutex(WaitingLines(limit: limits.waiting))
    }

    /// How many lines were dropped since the start.
    package var droppedLines: Int { dropped.load(ordering: .relaxed) }

    /// Takes whole lines, as many as there is room for, and counts the others. Never waits.
    @Sendable package func append(_ more: [UInt8]) {
        let taken = lines.withLock { $0.append(more) }
        if taken.droppedLines > 0 { dropped.add(taken.droppedLines, ordering: .relaxed) }
        if taken.startsWriting { writer.async { self.writeAll() } }
    }

    /// Waits until the lines so far are written, or until nobody has read them for the time that is set. For the end of
    /// the process.
    package func flush() {
        let written = DispatchSemaphore(value: 0)
        writer.async { written.signal() }
        _ = written.wait(timeout: .now() + limits.flush)
    }

    private func writeAll() {
        while let batch = lines.withLock({ $0.takeAll() }) {
            write(batch.bytes)
            if batch.droppedLines > 0 { report(batch.droppedLines) }
        }
    }

    private func report(_ count: Int) {
        let logger = Logger(label: "receipt-gateway") { JSONLogHandler(label: $0, level: .warning, write: write) }
        logger.warning("Log lines were dropped", metadata: ["dropped_lines": .stringConvertible(count)])
    }
}

/// The lines that wait for the writer, as a value.
private struct WaitingLines {
    /// The outcome of adding lines.
    struct Taken {
        var droppedLines = 0
        /// True if the writer has to be woken.
        var startsWriting = false
    }

    let limit: ByteCount
    private var bytes: [UInt8] = []
    private var droppedLines = 0
    private var isWriting = false

    init(limit: ByteCount) {
        self.limit = limit
    }

    private var room: Int { limit.bytes - bytes.count }

    mutating func append(_ lines: [UInt8]) -> Taken {
        var taken = Taken()
        if lines.count <= room { bytes += lines } else { taken.droppedLines = appendWhatFits(lines) }
        droppedLines += taken.droppedLines
        taken.startsWriting = !isWriting && !bytes.isEmpty
        isWriting = isWriting || taken.startsWriting
        return taken
    }

    /// Adds each line that there is room for, and returns the number of the others.
    private mutating func appendWhatFits(_ lines: [UInt8]) -> Int {
        var dropped = 0, rest = lines[...]
        while !rest.isEmpty {
            let end = rest.firstIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? rest.endIndex
            if end - rest.startIndex <= room { bytes += rest[..<end] } else { dropped += 1 }
            rest = rest[end...]
        }
        return dropped
    }

    /// Everything that waits; nil if there is nothing, and then the writer is to be started anew.
    mutating func takeAll() -> (bytes: [UInt8], droppedLines: Int)? {
        defer { (bytes, droppedLines) = ([], 0) }
        isWriting = !bytes.isEmpty || droppedLines > 0
        return isWriting ? (bytes, droppedLines) : nil
    }
}
