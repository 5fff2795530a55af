// SPDX-License-Identifier: Apache-2.0

package import Customers
internal import Gateway

extension RequestTracing {
    /// Adds a span to each attempt of a deferred verification, with a link to the request that made the job.
    package func traced(_ runner: any JobRunner) -> any JobRunner {
        recorder.map { TracedJobRunner(runner: runner, recorder: $0) } ?? runner
    }
}

private struct TracedJobRunner: JobRunner {
    let runner: any JobRunner
    let recorder: SpanRecorder

    func run(_ job: VerificationJob, _ request: JobRequest) async -> JobOutcome {
        // A job is attempted for days, by any node.
        guard let trace = LinkedTrace(of: job.traceparent, recorder) else { return await runner.run(job, request) }
        let start = ContinuousClock.now
        let outcome = await TraceScope.$current.withValue(trace.scope) { await runner.run(job, request) }
        trace.end("attempt verification", .consumer, took: .now - start) { details in
            details.set("receipt_gateway.client", job.client)
            details.set("receipt_gateway.outcome", JobAttemptEnd(outcome).rawValue)
            details.set("receipt_gateway.verdict", outcome.result?.verdict)
            details.set("receipt_gateway.degraded", outcome.degradedReason?.rawValue)
        }
        return outcome
    }
}

extension JobOutcome {
    fileprivate var result: JobResult? {
        switch self {
        case .decided(let result), .waiting(let result, _): result
        case .impossible: nil
        }
    }

    /// The reason why the attempt brought no verdict, if it is known.
    fileprivate var degradedReason: DegradedReason? {
        switch self {
        case .waiting(_, .request(let reason)): reason
        case .waiting(_, .upstream(let reason)): reason
        case .decided, .impossible: nil
        }
    }
}
