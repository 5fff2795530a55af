// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Testing

@testable import Clients
@testable import ServerTestSupport
@testable import Telemetry

/// Not async: these tests stand for the logging threads, and block as those would.
@Suite("Log lines without a reader")
struct LogQueueTests {
    private let lines = LogLines()
    private let reader = Reader()

    @Test func `logging does not block, and dropped lines are reported once the reader continues`() {
        let queue = stalledQueue(waiting: 10)
        queue.append(Array("1234567890".utf8))
        for _ in 0..<3 { queue.append(Array("x".utf8)) }
        #expect(queue.droppedLines == 3)
        reader.readOn()
        queue.flush()
        #expect(lines.containing("").prefix(2) == ["first\n", "1234567890"])
        #expect(lines.containing(#""message":"Log lines were dropped","dropped_lines":3}"#).count == 1)
        #expect(lines.containing("").count == 3)
        queue.append(Array("last\n".utf8))
        queue.flush()
        #expect(lines.containing("").last == "last\n")
        #expect(queue.droppedLines == 3)
    }

    @Test func `a batch that does not fit loses whole lines, each counted`() {
        let queue = stalledQueue(waiting: 10)
        queue.append(Array("12\n123456789\n34\n5\n6\n7".utf8))
        #expect(queue.droppedLines == 2, "the one that is too long for what is left, and the last one")
        queue.append(Array("\n\n".utf8))
        #expect(queue.droppedLines == 4)
        reader.readOn()
        queue.flush()
        #expect(lines.containing("").prefix(2) == ["first\n", "12\n34\n5\n6\n"])
        #expect(lines.containing(#""dropped_lines":4}"#).count == 1)
    }

    @Test func `lines of several threads stay in order and whole`() {
        let queue = LogQueue(write: lines.append)
        DispatchQueue.concurrentPerform(iterations: 8) { thread in
            for number in 0..<500 { queue.append(Array("\(thread) \(number)\n".utf8)) }
        }
        queue.flush()
        let written = lines.containing("").joined().split(separator: "\n")
        for thread in 0..<8 {
            #expect(written.filter { $0.hasPrefix("\(thread) ") } == (0..<500).map { "\(thread) \($0)" })
        }
    }

    @Test func `the final flush has a time limit`() {
        // The limit has to pass.
        let queue = stalledQueue(waiting: 10, flush: .milliseconds(20))
        queue.flush()
        #expect(lines.containing("").isEmpty)
        reader.readOn()
        queue.flush()
    }

    /// Returns a queue whose writer has taken a first line and waits for the reader.
    private func stalledQueue(waiting bytes: Int, flush: DispatchTimeInterval = .seconds(60)) -> LogQueue {
        let queue = LogQueue(limits: .init(waiting: .bytes(bytes), flush: flush)) {
            [reader, lines] bytes in
            reader.wait()
            lines.append(bytes)
        }
        queue.append(Array("first\n".utf8))
        reader.waitForWriter()
        return queue
    }
}

/// A reader that blocks until released.
private final class Reader: Sendable {
    private let writerArrived = DispatchSemaphore(value: 0)
    private let gate = DispatchSemaphore(value: 0)

    /// Blocks the writer.
    func wait() {
        writerArrived.signal()
        gate.wait()
        gate.signal()
    }

    /// Waits until the writer blocks.
    func waitForWriter() {
        writerArrived.wait()
    }

    /// Releases the writer for good.
    func readOn() {
        gate.signal()
    }
}
