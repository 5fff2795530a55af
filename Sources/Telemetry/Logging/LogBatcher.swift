// SPDX-License-Identifier: Apache-2.0

internal import Clients
package import JSON
internal import NIOCore
package import NIOPosix
internal import Synchronization

/// Batches the log lines of requests: a request pays for formatting its line, not for waking the log's writer thread.
/// Each event loop has its own buffer, all other threads, which answer few requests, share one.
package final class LogBatcher: Sendable {
    package struct Limits: Sendable {
        /// The size at which a buffer is flushed at once.
        var batch = ByteCount.kibibytes(32)
        /// The maximum age of a line in a buffer. A killed process loses no more than this.
        var delay = TimeAmount.milliseconds(50)
    }

    private let ofLoops: [ObjectIdentifier: LineBuffer]
    private let shared: LineBuffer

    /// - Parameters:
    ///   - loops: the event loops that answer requests.
    ///   - handOn: takes whole lines on the logging threads, so it must not block.
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

    package func append(_ write: (inout JSONWriter) -> Void) { bufferOfThisThread.append(write) }

    package func flush() {
        for buffer in ofLoops.values { buffer.handOnAll() }
        shared.handOnAll()
    }

    private var bufferOfThisThread: LineBuffer {
        guard let loop = MultiThreadedEventLoopGroup.currentEventLoop else { return shared }
        return ofLoops[ObjectIdentifier(loop)] ?? shared
    }
}

private final class LineBuffer: Sendable {
    private struct Pending {
        var lines = JSONWriter(reservingCapacity: 0)
        var hasTimer = false
    }

    private let limits: LogBatcher.Limits
    private let loop: any EventLoop
    private let handOn: @Sendable ([UInt8]) -> Void
    private let pending = Mutex(Pending())

    init(limits: LogBatcher.Limits, loop: any EventLoop, handOn: @escaping @Sendable ([UInt8]) -> Void) {
        (self.limits, self.loop, self.handOn) = (limits, loop, handOn)
    }

    // Lines are flushed under the lock: they stay in order, and none is in flight once `flush` has returned.
    func append(_ write: (inout JSONWriter) -> Void) {
        let needsTimer = pending.withLock { pending in
            write(&pending.lines)
            pending.lines.endLine()
            guard pending.lines.bytes.count < limits.batch.bytes else {
                handOnLines(&pending)
                return false
            }
            defer { pending.hasTimer = true }
            return !pending.hasTimer
        }
        if needsTimer { loop.scheduleTask(in: limits.delay) { self.handOnAll(timerFired: true) } }
    }

    func handOnAll(timerFired: Bool = false) {
        pending.withLock { pending in
            if timerFired { pending.hasTimer = false }
            if !pending.lines.bytes.isEmpty { handOnLines(&pending) }
        }
    }

    private func handOnLines(_ pending: inout Pending) {
        handOn(pending.lines.bytes)
        pending.lines.removeAll()
    }
}
