// SPDX-License-Identifier: Apache-2.0

package import HTTPClient
package import Logging
internal import Synchronization

/// Sends spans to a collector in batches, one request at a time.
package final class SpanExporter: Sendable {
    enum Limits {
        /// The maximum age of a span that waits for its batch to fill.
        static let delay: Duration = .seconds(5)
        /// The time limit for the last batches, at the shutdown.
        static let last: Duration = .seconds(3)
    }

    private let recorder: SpanRecorder
    private let transport: HTTPTransport
    private let url: String
    private let headers: [TransportHeader]
    private let format: OTLPTraces
    private let timeout: Duration
    private let logger: Logger
    private let isFailing = Atomic(false)

    /// - Parameters:
    ///   - transport: used for nothing else; the exporter shuts it down.
    ///   - headers: the fields beside `Content-Type`.
    ///   - timeout: the limit for one request.
    package init(
        _ recorder: SpanRecorder, over transport: HTTPTransport, to url: String, headers: [TransportHeader],
        format: OTLPTraces, timeout: Duration, logger: Logger
    ) {
        (self.recorder, self.transport, self.url, self.format) = (recorder, transport, url, format)
        self.headers = [TransportHeader(name: "Content-Type", value: "application/json")] + headers
        (self.timeout, self.logger) = (timeout, logger)
    }

    /// Exports spans until the task is cancelled.
    package func run() async {
        await withDiscardingTaskGroup { group in
            group.addTask {
                while (try? await Task.sleep(for: Limits.delay)) != nil { self.recorder.wake() }
            }
            for await _ in recorder.wakeUps { await exportWaiting() }
        }
    }

    /// Exports the spans that wait. Spans that come meanwhile wait for their batch to fill, or for the next wake-up: a
    /// quick collector would otherwise get them one by one.
    func exportWaiting() async {
        var batch: [TraceSpan]
        repeat {
            batch = recorder.takeBatch()
            if !batch.isEmpty { await export(batch) }
        } while batch.count == SpanRecorder.Limits.batch && !Task.isCancelled
    }

    /// Sends the spans that wait, each batch once, and closes the connections.
    package func finish() async {
        let deadline = ContinuousClock.now + Limits.last
        while case let batch = recorder.takeBatch(), !batch.isEmpty {
            let outcome = await send(batch, by: min(deadline, .now + timeout))
            report(outcome, for: batch.count)
        }
        await transport.shutdown()
    }

    // MARK: - One batch

    private func export(_ batch: [TraceSpan]) async {
        var generator: any RandomNumberGenerator = SystemRandomNumberGenerator()
        for attempt in 1...ExportOutcome.Limits.attempts {
            let outcome = await send(batch, by: .now + timeout)
            let delay = outcome.delay(afterAttempts: attempt, using: &generator)
            // A batch that fails finally, or is accepted, is not sent again.
            if let delay, !Task.isCancelled {
                announceFailure(outcome)
                if (try? await Task.sleep(for: delay)) != nil { continue }
            }
            if outcome.isRepeatable, Task.isCancelled { return recorder.putBack(batch) }
            return report(outcome, for: batch.count)
        }
    }

    private func send(_ batch: [TraceSpan], by deadline: ContinuousClock.Instant) async -> ExportOutcome {
        let request = TransportRequest(.post, url: url, headers: headers, body: format.request(for: batch))
        do throws(TransportError) {
            return ExportOutcome(try await transport.send(request, deadline: deadline), ofSpans: batch.count)
        } catch {
            return ExportOutcome(error)
        }
    }

    private func report(_ outcome: ExportOutcome, for count: Int) {
        switch outcome {
        case .accepted(let rejected):
            recorder.countSpans(count - rejected, .exported)
            recorder.countSpans(rejected, .rejected)
            if rejected == 0 { return announceSuccess() }
        case .refused: recorder.countSpans(count, .rejected)
        case .unavailable: recorder.countSpans(count, .failed)
        }
        announceFailure(outcome)
    }

    // One line for each change: a collector may be away for days.

    private func announceFailure(_ outcome: ExportOutcome) {
        guard !isFailing.exchange(true, ordering: .relaxed) else { return }
        logger.warning("The collector does not take the spans", metadata: ["outcome": "\(outcome)"])
    }

    private func announceSuccess() {
        guard isFailing.exchange(false, ordering: .relaxed) else { return }
        logger.notice("The collector takes the spans again")
    }
}
