// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Testing

@testable import Settings
@testable import Telemetry

/// Not async: these tests stand in for the threads that log, and wait as those would.
@Suite("Log lines that nobody reads")
struct LogQueueTests {
    private let lines = LogLines()
    private let reader = Reader()

    @Test func `whoever logs goes on, and what was dropped is told once it flows again`() {
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

    @Test func `of a batch that does not fit whole lines are left out, and each of them is counted`() {
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

    @Test func `lines stay in order and whole, whoever logs them`() {
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

    @Test func `the end of the process does not wait for ever`() {
        let queue = stalledQueue(waiting: 10)
        queue.flush()
        #expect(lines.containing("").isEmpty)
        reader.readOn()
        queue.flush()
    }

    /// A queue whose writer has taken a first line and waits for the reader.
    private func stalledQueue(waiting bytes: Int) -> LogQueue {
        let queue = LogQueue(limits: .init(waiting: .bytes(bytes), flush: .milliseconds(500))) {
            [reader, lines] bytes in
            reader.wait()
            lines.append(bytes)
        }
        queue.append(Array("first\n".utf8))
        reader.waitForWriter()
        return queue
    }
}

/// Somebody who reads nothing until told.
private final class Reader: Sendable {
    private let writerArrived = DispatchSemaphore(value: 0)
    private let gate = DispatchSemaphore(value: 0)

    /// The writer's side.
    func wait() {
        writerArrived.signal()
        gate.wait()
        gate.signal()
    }

    /// Returns when the writer waits.
    func waitForWriter() {
        writerArrived.wait()
    }

    /// Takes everything from now on.
    func readOn() {
        gate.signal()
    }
}
