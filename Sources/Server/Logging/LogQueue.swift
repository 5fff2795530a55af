// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Logging
internal import Synchronization

/// Log lines on their way to a reader that may be slow, or not read at all. Whoever logs leaves the line here and goes
/// on; one thread writes. When the queue is full lines are dropped, and their number is logged once the reader goes on.
final class LogQueue: Sendable {
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
        (self.limits, self.write) = (limits, write)
        lines = Mutex(WaitingLines(limit: limits.waiting))
    }

    /// How many lines were dropped since the start.
    var droppedLines: Int { dropped.load(ordering: .relaxed) }

    /// Takes a line with its end. Never waits.
    @Sendable func append(_ line: [UInt8]) {
        switch lines.withLock({ $0.append(line) }) {
        case .nothing: break
        case .startWriting: writer.async { self.writeAll() }
        case .countDropped: dropped.add(1, ordering: .relaxed)
        }
    }

    /// Waits until the lines so far are written, or until nobody has read them for the time that is set. For the end of
    /// the process.
    func flush() {
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
    enum Action {
        case nothing, startWriting, countDropped
    }

    let limit: ByteCount
    private var bytes: [UInt8] = []
    private var droppedLines = 0
    private var isWriting = false

    init(limit: ByteCount) {
        self.limit = limit
    }

    mutating func append(_ line: [UInt8]) -> Action {
        guard line.count <= limit.bytes - bytes.count else {
            droppedLines += 1
            return .countDropped
        }
        bytes += line
        defer { isWriting = true }
        return isWriting ? .nothing : .startWriting
    }

    /// Everything that waits; nil if there is nothing, and then the writer is to be started anew.
    mutating func takeAll() -> (bytes: [UInt8], droppedLines: Int)? {
        defer { (bytes, droppedLines) = ([], 0) }
        isWriting = !bytes.isEmpty || droppedLines > 0
        return isWriting ? (bytes, droppedLines) : nil
    }
}
