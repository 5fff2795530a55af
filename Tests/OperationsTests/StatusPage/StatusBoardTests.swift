// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Receipts
import Testing
import TestSupport

@testable import HTTPServer
@testable import Operations
@testable import ServerTestSupport

@Suite("Viewers of the status page", .timeLimit(.patient))
struct StatusBoardTests {
    private let counters: StatusBoard

    init() throws {
        counters = StatusBoard(try StatusSample().sources)
    }

    @Test func `the number of viewers is limited, and a viewer that leaves makes room`() throws {
        var views = (0..<StatusBoard.Limits.viewers).map { _ in counters.admit(after: nil) }
        #expect(views.allSatisfy { $0 != nil })
        #expect(counters.admit(after: nil) == nil)
        views.removeLast()
        views.append(counters.admit(after: nil))
        #expect(views.last != nil)
        #expect(counters.admit(after: nil) == nil)
    }

    @Test func `all viewers get the same bytes at each reading`() async throws {
        let views = [try #require(counters.admit(after: nil)), try #require(counters.admit(after: nil))]
        counters.tick()
        var told: [ByteBuffer] = []
        for view in views {
            var events = view.parts.makeAsyncIterator()
            told.append(try #require(await events.next()))
        }
        #expect(told[0] == told[1])
        let event = try Event(told[0])
        #expect(event.id > 0 && event.retry == StatusBoard.Limits.retryMilliseconds)
        #expect(event.json["title"] as? String == "Healthy")
        #expect((event.json["samples"] as? [Any])?.count == 1)
    }

    @Test func `a slow viewer gets only the newest event`() async throws {
        let view = try #require(counters.admit(after: nil))
        for _ in 0..<10 { counters.tick() }
        counters.end()
        var events: [Event] = []
        for await event in view.parts { events.append(try Event(event)) }
        #expect(events.count == 1)
        #expect((events[0].json["samples"] as? [Any])?.count == StatusBoard.Limits.repeatedSamples)
    }

    @Test func `a new viewer gets the history, and a returning one the events it missed`() throws {
        for _ in 0..<7 { counters.tick() }
        func samples(after id: Timestamp?) throws -> Int? {
            let view = try #require(counters.admit(after: id))
            return (try Event(view.first).json["samples"] as? [Any])?.count
        }
        #expect(try samples(after: nil) == 7)
        #expect(try samples(after: StatusSample.now) == 0, "the clock of this test stands still")
        #expect(try samples(after: Timestamp(millisecondsSince1970: 1)) == 7)
    }

    @Test func `no viewer is admitted once the node stops`() async throws {
        let view = try #require(counters.admit(after: nil))
        counters.end()
        for await _ in view.parts { Issue.record("no event was expected") }
        #expect(counters.admit(after: nil) == nil)
    }

    struct Event {
        let id: Int
        let retry: Int
        let json: [String: Any]

        init(_ bytes: ByteBuffer) throws {
            let text = String(buffer: bytes)
            let fields = text.split(separator: "\n").map { $0.split(separator: ": ", maxSplits: 1) }
            try #require(text.hasSuffix("\n\n") && fields.map(\.[0]) == ["id", "retry", "data"])
            id = try #require(Int(fields[0][1]))
            retry = try #require(Int(fields[1][1]))
            json = try #require(String(fields[2][1]).jsonMembers)
        }
    }
}
