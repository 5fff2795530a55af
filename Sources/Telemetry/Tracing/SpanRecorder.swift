// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Keeps finished spans until they are exported. Nothing waits for it: spans beyond the limit are dropped.
package final class SpanRecorder: Sendable {
    package enum Limits {
        /// The spans that wait for their export, about a kilobyte each.
        package static let spans = 2048
        /// The spans of one request to the collector.
        package static let batch = 512
    }

    let sampler: TraceSampler
    private let count: @Sendable (SpanFate, Int) -> Void
    private let spans = Mutex<[TraceSpan]>([])
    private let fullBatches = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))

    /// - Parameter count: counts spans by their fate.
    package init(_ sampler: TraceSampler, count: @escaping @Sendable (SpanFate, Int) -> Void) {
        (self.sampler, self.count) = (sampler, count)
    }

    /// Yields when spans should be exported.
    var wakeUps: AsyncStream<Void> { fullBatches.stream }

    func wake() { fullBatches.continuation.yield() }

    func append(_ span: TraceSpan) {
        let waiting = spans.withLock { spans -> Int? in
            guard spans.count < Limits.spans else { return nil }
            spans.append(span)
            return spans.count
        }
        guard let waiting else { return count(.dropped, 1) }
        if waiting.isMultiple(of: Limits.batch) { wake() }
    }

    /// Removes and returns the oldest spans; an empty list if none wait.
    func takeBatch() -> [TraceSpan] {
        spans.withLock { spans in
            let batch = Array(spans.prefix(Limits.batch))
            spans.removeFirst(batch.count)
            return batch
        }
    }

    /// Returns spans that could not be sent before the shutdown, which sends them once more.
    func putBack(_ batch: [TraceSpan]) { spans.withLock { $0.insert(contentsOf: batch, at: 0) } }

    func countSpans(_ number: Int, _ fate: SpanFate) {
        if number > 0 { count(fate, number) }
    }
}

extension SpanRecorder {
    /// Creates a recorder that counts in metrics.
    package convenience init(_ sampler: TraceSampler, _ registry: PrometheusRegistry) {
        let counters: [SpanFate: PrometheusCounter] = registry.counters(MetricCatalogue.traceSpans)
        self.init(sampler) { fate, number in counters[fate]?.increment(by: Int64(number)) }
    }
}

/// The fate of a span. The raw values are label values.
package enum SpanFate: String, SeriesLabels {
    case exported
    /// The queue was full.
    case dropped
    /// The collector does not take it.
    case rejected
    /// The collector could not be reached, or was overloaded, until the last attempt.
    case failed

    package static let labelNames = ["result"]
}
