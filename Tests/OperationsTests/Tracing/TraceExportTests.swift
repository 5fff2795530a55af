// SPDX-License-Identifier: Apache-2.0

import HTTPClient
import JSON
import ReceiptForge
import Synchronization
import Testing
import TestSupport

@testable import Telemetry

/// The rules of the export, without a network.
@Suite("The export of spans")
struct TraceExportTests {
    private static let low = TraceContext(traceparent: "00-0af7651916cd43dd0000000000000001-00f067aa0ba902b7-00")
    private static let high = TraceContext(traceparent: "00-0af7651916cd43dd00ffffffffffffff-00f067aa0ba902b7-00")
    private static let sampled = TraceContext(traceparent: "00-0af7651916cd43dd00ffffffffffffff-00f067aa0ba902b7-01")

    // MARK: - Sampling

    @Test(arguments: [
        (TraceSampler.Rule.alwaysOn, [true, true, true]), (.alwaysOff, [false, false, false]),
        (.ratio, [true, false, false]), (.parentOrOn, [false, false, true]), (.parentOrOff, [false, false, true]),
        (.parentOrRatio, [false, false, true]),
    ])
    func `each sampler follows its rule for a trusted client`(rule: TraceSampler.Rule, chosen: [Bool]) throws {
        let sampler = TraceSampler(rule, ratio: 0.5), new = try #require(Self.low)
        let senders = [Self.low, Self.high, Self.sampled]
        #expect(senders.map { sampler.samples($0, new: new) } == chosen)
    }

    @Test(arguments: [
        (TraceSampler.Rule.alwaysOn, 0.0, true), (.alwaysOff, 1.0, false), (.ratio, 1.0, true), (.ratio, 0.0, false),
        (.parentOrOn, 0.0, true), (.parentOrOff, 1.0, false), (.parentOrRatio, 1.0, true), (.parentOrRatio, 0.0, false),
    ])
    func `neither flag nor trace ID of another client counts, and its trace is joined`(
        rule: TraceSampler.Rule, ratio: Double, isChosen: Bool
    ) {
        let tracing = RequestTracing(SpanRecorder(TraceSampler(rule, ratio: ratio)) { _, _ in })
        for sender in [nil, Self.low, Self.high, Self.sampled] {
            let scope = tracing.begin(following: sender, isTrusted: false)
            #expect((scope != nil) == isChosen)
            if let sender, let scope { #expect(scope.context.traceID == sender.traceID && scope.context.isSampled) }
        }
    }

    @Test(arguments: [low, high])
    func `a client without a trace is chosen by a new one`(new: TraceContext?) throws {
        let new = try #require(new)
        #expect(TraceSampler(.parentOrRatio, ratio: 0.5).samples(nil, new: new) == (new == Self.low))
    }

    @Test func `a ratio of 0 chooses no trace, and a ratio of 1 every trace`() throws {
        for context in [Self.low, Self.high] {
            let new = try #require(context)
            #expect(!TraceSampler(.ratio, ratio: 0).samples(nil, new: new))
            #expect(TraceSampler(.ratio, ratio: 1).samples(nil, new: new))
        }
    }

    // MARK: - The queue

    @Test func `spans beyond the limit are dropped and counted, and the oldest go first`() throws {
        let dropped = Mutex(0)
        let recorder = SpanRecorder(TraceSampler(.alwaysOn, ratio: 1)) { fate, count in
            if fate == .dropped { dropped.withLock { $0 += count } }
        }
        let scope = try #require(RequestTracing(recorder).begin(following: nil, isTrusted: false))
        for number in 0..<SpanRecorder.Limits.spans + 3 { scope.record("span \(number)", .internal, took: .zero) }
        #expect(dropped.withLock { $0 } == 3)
        let batches = (0..<5).map { _ in recorder.takeBatch() }
        #expect(batches.map(\.count) == [512, 512, 512, 512, 0])
        #expect(batches[0].first?.name == "span 0" && batches[3].last?.name == "span 2047")
        recorder.putBack(batches[0])
        #expect(recorder.takeBatch().first?.name == "span 0")
    }

    // MARK: - The format

    @Test func `a span has the members of OTLP`() throws {
        let recorder = SpanRecorder(TraceSampler(.alwaysOn, ratio: 1)) { _, _ in }
        let scope = try #require(RequestTracing(recorder).begin(following: Self.sampled, isTrusted: false))
        scope.end("GET \"x\"", .client, took: .milliseconds(5)) { details in
            details.set("text", "a\nb")
            details.set("none", nil as String?)
            details.set("number", 200)
            details.fail("timeout")
            details.links = [Self.low].compactMap(\.self)
        }
        let body = OTLPTraces(resource: [("service.name", "shop")]).request(for: recorder.takeBatch())
        let sent = try #require(try JSONValue(parsing: body).elements("resourceSpans").first)
        let resource = try #require(sent["resource"])
        #expect(SpanCollector.attributes(of: resource) == ["service.name": "shop"])
        let scopeSpans = try #require(sent.elements("scopeSpans").first)
        #expect(scopeSpans["scope"]?["version"]?.string == Version.current)
        let json = try #require(scopeSpans.elements("spans").first)
        let span = SpanCollector.Span(json: json)
        #expect(span.traceID == Self.sampled?.traceID && span.parent == "00f067aa0ba902b7" && span.kind == "3")
        #expect(span.spanID == scope.context.spanID && span.spanID.count == 16)
        #expect(span.name == "GET \"x\"" && span.isError && span.end - span.start == 5_000_000)
        #expect(span.attributes == ["text": "a\nb", "number": "200", "error.type": "timeout"])
        #expect(json.elements("links").first?["traceId"]?.string == Self.low?.traceID)
    }

    // MARK: - Answers

    @Test(arguments: [
        ("{}", 0), ("", 0), (#"{"partialSuccess":{}}"#, 0), (#"{"partialSuccess":{"rejectedSpans":"3"}}"#, 3),
        (#"{"partialSuccess":{"rejectedSpans":3,"errorMessage":"x"}}"#, 3),
        (#"{"partialSuccess":{"rejectedSpans":"99999999999999999999"}}"#, 0),
        (#"{"partialSuccess":{"rejectedSpans":"12345"}}"#, 10), (#"{"partialSuccess":{"rejectedSpans":"-1"}}"#, 0),
    ])
    func `an answer says how many spans it rejects`(answer: String, rejected: Int) {
        #expect(OTLPTraces.rejectedSpans(in: Array(answer.utf8), atMost: 10) == rejected)
    }

    @Test func `a batch is sent again within limits, and not before the collector asks for it`() {
        var generator = SplitMix64(seed: TestSeed.number(45))
        let busy = ExportOutcome.unavailable("status 503", retryAfter: nil)
        for attempts in 1..<ExportOutcome.Limits.attempts {
            let delay = busy.delay(afterAttempts: attempts, using: &generator) ?? .seconds(3600)
            #expect(delay <= .seconds(1 << (attempts - 1)))
        }
        #expect(busy.delay(afterAttempts: ExportOutcome.Limits.attempts, using: &generator) == nil)
        let asking = ExportOutcome.unavailable("status 429", retryAfter: .seconds(7))
        let delay = asking.delay(afterAttempts: 1, using: &generator) ?? .zero
        #expect(delay >= .seconds(7) && delay <= .seconds(8))
        let endless = ExportOutcome.unavailable("status 429", retryAfter: .seconds(86_400))
        #expect(endless.delay(afterAttempts: 1, using: &generator) == ExportOutcome.Limits.longestDelay)
        for final in [ExportOutcome.accepted(rejected: 1), .refused("status 400")] {
            #expect(final.delay(afterAttempts: 1, using: &generator) == nil && !final.isRepeatable)
        }
        #expect(
            ExportOutcome(TransportError.connect).isRepeatable
                && !ExportOutcome(TransportError.tlsVerification).isRepeatable)
    }
}
