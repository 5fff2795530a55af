// SPDX-License-Identifier: Apache-2.0

import InMemoryTracing
import Tracing

@testable import Telemetry

/// A tracer as an operator might link it: it stores spans in memory, and uses the W3C header fields.
struct W3CTracer: Tracer {
    let memory = InMemoryTracer(
        idGenerator: .init(
            nextTraceID: { TraceContext(following: nil).traceID }, nextSpanID: { TraceContext(following: nil).spanID }))

    var spans: [FinishedInMemorySpan] { memory.finishedSpans }

    func startSpan<Instant: TracerInstant>(
        _ operationName: String, context: @autoclosure () -> InstrumentationContext, ofKind kind: SpanKind,
        at instant: @autoclosure () -> Instant, function: String, file fileID: String, line: UInt
    ) -> InMemorySpan {
        memory.startSpan(
            operationName, context: context(), ofKind: kind, at: instant(), function: function, file: fileID, line: line
        )
    }

    func forceFlush() {}

    func extract<Carrier, Extract: Extractor>(
        _ carrier: Carrier, into context: inout InstrumentationContext, using extractor: Extract
    ) where Extract.Carrier == Carrier {
        // Records the carrier for the tests.
        memory.extract(carrier, into: &context, using: extractor)
        guard let parent = extractor.extract(key: "traceparent", from: carrier) else { return }
        let parts = parent.split(separator: "-").map(String.init)
        context.inMemorySpanContext = InMemorySpanContext(traceID: parts[1], spanID: parts[2], parentSpanID: nil)
    }

    func inject<Carrier, Inject: Injector>(
        _ context: InstrumentationContext, into carrier: inout Carrier, using injector: Inject
    ) where Inject.Carrier == Carrier {
        guard let span = context.inMemorySpanContext else { return }
        injector.inject("00-\(span.traceID)-\(span.spanID)-01", forKey: "traceparent", into: &carrier)
    }
}
