// SPDX-License-Identifier: Apache-2.0

import NIOHTTP1
import Testing

@testable import HTTPServer
@testable import ServerTestSupport
@testable import Telemetry

/// W3C Trace Context, §3 and §4.
@Suite("Trace context of a request")
struct TraceContextTests {
    private static let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    private static let parent = "00f067aa0ba902b7"

    @Test(arguments: [
        "00-\(trace)-\(parent)-01", "00-\(trace)-\(parent)-00", "00-\(trace)-\(parent)-ff",
        "01-\(trace)-\(parent)-00", "fe-\(trace)-\(parent)-03", "01-\(trace)-\(parent)-00-",
        "cc-\(trace)-\(parent)-00-what-comes",
    ])
    func `a valid parent is used, of later versions the known part`(text: String) throws {
        let context = try #require(TraceContext(traceparent: text))
        #expect(context.traceID == Self.trace && context.spanID == Self.parent)
        let ids = TraceContext(following: context)
        #expect(ids.traceID == Self.trace && ids.spanID != Self.parent)
    }

    @Test(arguments: [
        "", "00", "00-\(trace)-\(parent)", "00-\(trace)-\(parent)-", "00-\(trace)-\(parent)-1",
        "00-\(trace)-\(parent)-01-",
        "00-\(trace)-\(parent)-01-x", "00-\(trace)-\(parent)-011", "01-\(trace)-\(parent)-01.x",
        "ff-\(trace)-\(parent)-01",
        "FF-\(trace)-\(parent)-01", "0-\(trace)-\(parent)-01", "0x-\(trace)-\(parent)-01", "00_\(trace)-\(parent)-01",
        "00-\(trace.uppercased())-\(parent)-01", "00-\(trace)-\(parent.uppercased())-01", "00-\(trace)-\(parent)-0A",
        "00-\(trace.dropLast())g-\(parent)-01", "00-\(trace)-\(parent.dropLast())é-01",
        "00-\(trace.dropLast())-\(parent)-001",
        "00-00000000000000000000000000000000-\(parent)-01", "00-\(trace)-0000000000000000-01",
        " 00-\(trace)-\(parent)-01",
        "00-\(trace)-\(parent)-01,00-\(trace)-\(parent)-01", "01-\(trace)-\(parent)-0z",
    ])
    func `anything else is ignored`(text: String) {
        #expect(TraceContext(traceparent: text) == nil)
    }

    @Test func `two traceparent fields are ignored`() throws {
        let field = ("traceparent", "00-\(Self.trace)-\(Self.parent)-01")
        let none = try RequestContext.forTests().header
        let once = try RequestContext.forTests(HTTPHeaders([field])).header
        let twice = try RequestContext.forTests(HTTPHeaders([field, field])).header
        #expect(TraceContext(once) != nil && TraceContext(twice) == nil && TraceContext(none) == nil)
    }

    @Test func `a new trace has a unique identifier`() {
        let ids = (0..<100).map { _ in TraceContext(following: nil) }
        #expect(Set(ids.map(\.traceID)).count == 100 && Set(ids.map(\.spanID)).count == 100)
        for one in ids { #expect(TraceContext(traceparent: "00-\(one.traceID)-\(one.spanID)-00") != nil) }
    }
}
