// SPDX-License-Identifier: Apache-2.0

import JSON
import NIOCore
import NIOPosix
import Testing
import TestSupport

@testable import Clients
@testable import ServerTestSupport
@testable import Telemetry

@Suite("Batches of log lines", .timeLimit(.patient))
struct LogBatcherTests {
    private let batches = LogLines()
    private let loops = MultiThreadedEventLoopGroup.singleton

    @Test func `the writer is woken once per batch`() async throws {
        let batcher = batcher(batch: .bytes(100))
        // Two digits, in quotation marks, with an end: five bytes.
        try await loops.next().submit { for number in 10..<75 { batcher.append(number) } }.get()
        let full = batches.containing("")
        #expect(full.map(\.utf8.count) == [100, 100, 100])
        batcher.flush()
        #expect(batches.containing("").joined() == (10..<75).map { "\"\($0)\"\n" }.joined())
        #expect(batches.containing("").count == 4)
    }

    @Test func `a line larger than a batch is flushed whole`() {
        let batcher = batcher(batch: .bytes(4))
        batcher.append(1_000_000)
        #expect(batches.containing("") == ["\"1000000\"\n"])
    }

    @Test(arguments: [true, false])
    func `a few lines are flushed after a delay, repeatedly`(isOnLoop: Bool) async throws {
        let (handedOn, handing) = AsyncStream.makeStream(of: String.self)
        let batcher = LogBatcher(limits: .init(delay: .milliseconds(1)), loops: loops) {
            handing.yield(String(decoding: $0, as: UTF8.self))
        }
        var batches = handedOn.makeAsyncIterator()
        for number in 1...3 {
            if isOnLoop {
                try await loops.next().submit { batcher.append(number) }.get()
            } else {
                batcher.append(number)
            }
            #expect(await batches.next() == "\"\(number)\"\n")
        }
    }

    @Test func `a final flush loses no line of event loops or other threads`() async throws {
        let batcher = batcher(batch: .mebibytes(1))
        for (number, loop) in loops.makeIterator().enumerated() {
            try await loop.submit { batcher.append(100 + number) }.get()
        }
        await Task.detached { batcher.append(10) }.value
        #expect(batches.containing("").isEmpty)
        batcher.flush()
        let expected = Array(loops.makeIterator()).indices.map { "\"\(100 + $0)\"\n" } + ["\"10\"\n"]
        #expect(batches.containing("").sorted() == expected.sorted())
        batcher.flush()
        #expect(batches.containing("").count == expected.count, "nothing is handed on twice")
    }

    @Test func `lines of one thread stay in order and whole during concurrent flushes`() async throws {
        let batcher = batcher(batch: .bytes(1000)), lines = 2000
        try await withThrowingTaskGroup { group in
            for (source, loop) in loops.makeIterator().enumerated() {
                group.addTask {
                    try await loop.submit { for line in 0..<lines { batcher.append(source * 10_000 + line) } }.get()
                }
            }
            group.addTask { for _ in 0..<100 { batcher.flush() } }
            try await group.waitForAll()
        }
        batcher.flush()
        let written = batches.containing("").joined().split(separator: "\n").compactMap {
            Int($0.dropFirst().dropLast())
        }
        let sources = Array(loops.makeIterator()).count
        #expect(written.count == sources * lines)
        for source in 0..<sources {
            let expected = (0..<lines).map { source * 10_000 + $0 }
            #expect(written.filter { $0 / 10_000 == source } == expected)
        }
    }

    /// Returns a batcher that flushes full batches only.
    private func batcher(batch: ByteCount) -> LogBatcher {
        LogBatcher(limits: .init(batch: batch, delay: .hours(24)), loops: loops, handOn: batches.append)
    }
}

extension LogBatcher {
    /// Appends a number in quotation marks.
    fileprivate func append(_ number: Int) {
        append { $0.string("\(number)") }
    }
}
