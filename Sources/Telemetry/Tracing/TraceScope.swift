// SPDX-License-Identifier: Apache-2.0

internal import Clients

/// A span that has begun, and receives the spans of the work within it. Only work that is sampled has a scope.
package struct TraceScope: Sendable {
    /// The scope of the current task's work.
    @TaskLocal package static var current: TraceScope?

    package let context: TraceContext
    private let parent: TraceContext?
    private let recorder: SpanRecorder

    /// - Parameter parent: the span that caused it; nil for the first span of a trace.
    init(_ context: TraceContext, within parent: TraceContext?, _ recorder: SpanRecorder) {
        (self.context, self.parent, self.recorder) = (context, parent, recorder)
    }

    private var child: TraceScope {
        TraceScope(TraceContext(following: context, isSampled: true), within: context, recorder)
    }

    /// Ends the span, which is then exported.
    /// - Parameter age: the time since its end.
    package func end(
        _ name: String, _ kind: TraceSpan.Kind, took: Duration, age: Duration = .zero,
        _ describe: (inout SpanDetails) -> Void = { _ in }
    ) {
        var details = SpanDetails()
        describe(&details)
        let end = CLibrary.nanosecondsSince1970 - age.nanoseconds
        recorder.append(
            TraceSpan(
                name: name, kind: kind, context: context, parent: parent, start: end - took.nanoseconds, end: end,
                details: details))
    }

    /// Adds a span within this span, for work that has ended.
    package func record(
        _ name: String, _ kind: TraceSpan.Kind, took: Duration, age: Duration = .zero,
        _ describe: (inout SpanDetails) -> Void = { _ in }
    ) {
        child.end(name, kind, took: took, age: age, describe)
    }

    /// Runs work, in a span within the current span if there is one.
    package static func span<Value>(
        _ name: String, _ kind: TraceSpan.Kind, _ work: () async -> Value,
        describe: (Value, inout SpanDetails) -> Void = { _, _ in }
    ) async -> Value {
        guard let scope = current?.child else { return await work() }
        let start = ContinuousClock.now
        let value = await $current.withValue(scope, operation: work)
        scope.end(name, kind, took: .now - start) { describe(value, &$0) }
        return value
    }
}

extension Duration {
    /// Whole nanoseconds, not negative.
    fileprivate var nanoseconds: Int64 { max(0, Int64(clamping: attoseconds / 1_000_000_000)) }
}
