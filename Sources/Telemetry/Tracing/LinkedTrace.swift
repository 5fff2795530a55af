// SPDX-License-Identifier: Apache-2.0

/// The trace of work that a request caused, and that may go on for days. It is a trace of its own, with a link to the
/// request's span.
struct LinkedTrace {
    let scope: TraceScope
    private let cause: TraceContext?

    /// Begins the trace; nil if it is not sampled. Work whose cause has a span is always sampled.
    /// - Parameter traceparent: the request's span; nil if it has none, or is unknown.
    init?(of traceparent: String?, _ recorder: SpanRecorder) {
        let new = TraceContext(following: nil, isSampled: true)
        cause = traceparent.flatMap { TraceContext(traceparent: $0) }
        guard cause != nil || recorder.sampler.samples(nil, new: new) else { return nil }
        scope = TraceScope(new, within: nil, recorder)
    }

    func end(_ name: String, _ kind: TraceSpan.Kind, took: Duration, _ describe: (inout SpanDetails) -> Void) {
        scope.end(name, kind, took: took) { details in
            details.links = [cause].compactMap(\.self)
            describe(&details)
        }
    }
}
