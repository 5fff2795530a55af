// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import JSON
internal import NIOCore
package import NIOPosix
internal import Settings
internal import Synchronization

/// Gathers the log lines of requests and hands them on in batches, so that a request pays for writing its line and not
/// for waking the thread that writes the log.
///
/// Each event loop has a buffer of its own, which other threads touch at the end of the process only. All other threads
/// share one: few requests are answered there.
package final class LogBatcher: Sendable {
    /// The size of a batch, and its greatest age.
    package struct Limits: Sendable {
        /// A buffer with this many bytes is handed on at once.
        var batch = ByteCount.kibibytes(32)
        /// The time after which a line is handed on, however few there are. A process that is killed loses no more.
        var delay = TimeAmount.milliseconds(50)
    }

    private let ofLoops: [ObjectIdentifier: LineBuffer]
    private let shared: LineBuffer

    /// - Parameters:
    ///   - loops: the event loops that answer requests.
    ///   - handOn: takes whole lines; called on the threads that log, so it must not wait.
    package init(
        limits: Limits = Limits(), loops: MultiThreadedEventLoopGroup = .singleton,
        handOn: @escaping @Sendable ([UInt8]) -> Void
    ) {
        shared = LineBuffer(limits: limits, loop: loops.next(), handOn: handOn)
        ofLoops = Dictionary(
            uniqueKeysWithValues: loops.makeIterator().map { loop in
                (ObjectIdentifier(loop), LineBuffer(limits: limits, loop: loop, handOn: handOn))
            })
    }

    /// Adds one line.
    /// - Parameter write: writes its JSON text.
    package func append(_ write: (inout JSONWriter) -> Void) {
        bufferOfThisThread.append(write)
    }

    /// Hands on everything that was gathered so far. For the end of the process.
    package func flush() {
        for buffer in ofLoops.values { buffer.handOnAll() }
        shared.handOnAll()
    }

    private var bufferOfThisThread: LineBuffer {
        guard let loop = MultiThreadedEventLoopGroup.currentEventLoop else { return shared }
        return ofLoops[ObjectIdentifier(loop)] ?? shared
    }
}

/// The lines of one event loop that were not handed on yet.
private final class LineBuffer: Sendable {
    private let limits: LogBatcher.Limits
    private let loop: any EventLoop
    private let handOn: @Sendable ([UInt8]) -> Void
    private let lines: Mutex<GatheredLines>

    init(limits: LogBatcher.Limits, loop: any EventLoop, handOn: @escaping @Sendable ([UInt8]) -> Void) {
        self.limits = limits
        self.loop = loop
        self.handOn = handOn
        lines = Mutex(GatheredLines(batch: limits.batch))
    }

    // Lines are handed on under the lock: so they stay in order, and once `flush` has returned none is on its way.
    func append(_ write: (inout JSONWriter) -> Void) {
        let needsTimer = lines.withLock { lines in
            switch lines.append(write) {
            case .nothing: return false
            case .setTimer: return true
            case .handOn:
                handOn(lines.takeAll())
                return false
            }
        }
        if needsTimer { loop.scheduleTask(in: limits.delay) { self.timerFired() } }
    }

    func handOnAll() {
        lines.withLock { lines in
            if !lines.isEmpty { handOn(lines.takeAll()) }
        }
    }

    private func timerFired() {
        lines.withLock { lines in
            lines.timerFired()
            if !lines.isEmpty { handOn(lines.takeAll()) }
        }
    }
}

/// Lines that are gathered, as a value.
private struct GatheredLines {
    enum Action {
        case nothing, setTimer, handOn
    }

    private let batch: ByteCount
    private var json = JSONWriter(reservingCapacity: 0)
    private var hasTimer = false

    init(batch: ByteCount) {
        self.batch = batch
    }

    var isEmpty: Bool { json.bytes.isEmpty }

    mutating func append(_ write: (inout JSONWriter) -> Void) -> Action {
        write(&json)
        json.endLine()
        guard json.bytes.count < batch.bytes else { return .handOn }
        defer { hasTimer = true }
        return hasTimer ? .nothing : .setTimer
    }

    mutating func timerFired() {
        hasTimer = false
    }

    mutating func takeAll() -> [UInt8] {
        json.takeBytes()
    }
}
