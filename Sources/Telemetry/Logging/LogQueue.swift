// SPDX-License-Identifier: Apache-2.0

internal import Clients
internal import Dispatch
internal import Logging
internal import Synchronization

/// A queue between the logging threads and one writer thread, for a reader that may be slow or absent. A full queue
/// drops lines; their number is logged once the reader continues.
package final class LogQueue: Sendable {
    struct Limits: Sendable {
        /// The size of waiting lines; as much again is being written.
        var waiting = ByteCount.mebibytes(1)
        /// The time the end of the process waits for a reader.
        var flush = DispatchTimeInterval.seconds(2)
    }

    private let limits: Limits
    private let write: @Sendable ([UInt8]) -> Void
    private let lines: Mutex<WaitingLines>
    private let dropped = Atomic<Int>(0)
    private let writer = DispatchQueue(label: "log")

    /// Creates a queue in front of `write`, which takes whole lines and may block.
    init(limits: Limits = Limits(), write: @escaping @Sendable ([UInt8]) -> Void) {
        (self.limits, self.write) = (limits, write)
        lines = Mutex(WaitingLines(limit: limits.waiting))
    }

    package var droppedLines: Int { dropped.load(ordering: .relaxed) }

    /// Adds as many whole lines as fit and counts the dropped lines. Never blocks.
    @Sendable package func append(_ more: [UInt8]) {
        let taken = lines.withLock { $0.append(more) }
        if taken.droppedLines > 0 { dropped.add(taken.droppedLines, ordering: .relaxed) }
        if taken.startsWriting { writer.async { self.writeAll() } }
    }

    /// Waits until the pending lines are written, or for `Limits.flush` at most. For the end of the process.
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

private struct WaitingLines {
    let limit: ByteCount
    private var bytes: [UInt8] = []
    private var droppedLines = 0
    private var isWriting = false

    init(limit: ByteCount) { self.limit = limit }

    private var room: Int { limit.bytes - bytes.count }

    mutating func append(_ lines: [UInt8]) -> (droppedLines: Int, startsWriting: Bool) {
        let dropped = appendWhatFits(lines)
        droppedLines += dropped
        let startsWriting = !isWriting && !bytes.isEmpty
        isWriting = isWriting || startsWriting
        return (dropped, startsWriting)
    }

    /// Adds each line that fits, and returns the number of dropped lines.
    private mutating func appendWhatFits(_ lines: [UInt8]) -> Int {
        if lines.count <= room {
            bytes += lines
            return 0
        }
        var dropped = 0, rest = lines[...]
        while !rest.isEmpty {
            let end = rest.firstIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? rest.endIndex
            if end - rest.startIndex <= room { bytes += rest[..<end] } else { dropped += 1 }
            rest = rest[end...]
        }
        return dropped
    }

    /// Takes all waiting lines; nil if there are none, after which the writer must be started again.
    mutating func takeAll() -> (bytes: [UInt8], droppedLines: Int)? {
        defer { (bytes, droppedLines) = ([], 0) }
        isWriting = !bytes.isEmpty || droppedLines > 0
        return isWriting ? (bytes, droppedLines) : nil
    }
}

package enum StandardError {
    /// The queue of log lines. Logging does not wait for the reader.
    package static let log = LogQueue(write: CLibrary.writeToStandardError)

    /// Writes a command's message after all logged lines and all that the command has printed, and blocks until it is
    /// taken.
    package static func write(_ text: String) {
        log.flush()
        CLibrary.flushStandardOutput()
        CLibrary.writeToStandardError(Array(text.utf8))
    }
}
