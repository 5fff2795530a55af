// SPDX-License-Identifier: Apache-2.0

package import Clients
package import Customers
internal import Gateway
package import HTTPServer
internal import HTTPTypes
package import Receipts
internal import Resilience

/// `GET /v1/verifications/{id}`: a deferred verification, at once or after a wait for its end.
///
/// ```
/// request ──▶ query ──▶ slot ──▶ admit ──▶ job ──▶ 200, 202
///               │ fault                    │  ▲ └──▶ 404: not the client's, or forgotten; 403: of an app it may not use
///               └──▶ charge, problem       └──┘ wait
/// ```
package struct VerificationRoute: Sendable {
    enum Parameter: String, CaseIterable {
        case wait
    }

    private let store: any JobStore
    private let watcher: JobWatcher
    private let access: CurrentAccess
    private let charging: RequestCharging
    private let clock: @Sendable () -> Timestamp
    private let waiting = WaitingReaders()

    package init(
        _ store: any JobStore, watcher: JobWatcher, access: CurrentAccess, charging: RequestCharging,
        clock: @escaping @Sendable () -> Timestamp
    ) {
        (self.store, self.watcher, self.access) = (store, watcher, access)
        (self.charging, self.clock) = (charging, clock)
    }

    package var route: Route {
        Route(
            .get, RouteLabel.verifications.rawValue, bodyLimit: .bytes(0),
            waitLimit: .seconds(WaitingReaders.Limits.seconds), endsWithClient: true
        ) { context, _ in try answer(context) }
    }

    private func answer(_ context: RequestContext) throws -> Step<Reply, any Error> {
        let wait: Duration
        do {
            wait = try Self.wait(in: context.header)
        } catch {
            return try charging.refuse(error, to: context.client, in: context)
        }
        let slot = wait > .zero ? try waiting.acquire(context.client.name) : nil
        return try charging.admit(context, about: nil, isLong: slot != nil) {
            defer { withExtendedLifetime(slot) {} }
            return try await reply(to: context, within: wait)
        }
    }

    private func reply(to context: RequestContext, within wait: Duration) async throws -> Reply {
        var job = try await job(context)
        if job.status == .waiting, wait > .zero {
            let start = ContinuousClock.now
            let outcome = await watcher.wait(for: job.id, upTo: wait)
            context.record { $0.waited += .now - start }
            if outcome == .changed { job = try await self.job(context) }
            try check(job, for: context.client)
        }
        return Reply(job, isDurable: store.isDurable, at: clock())
    }

    private func job(_ context: RequestContext) async throws -> VerificationJob {
        let id = context.match.parameter
        guard id.utf8.count <= VerificationJob.Limits.idBytes,
            let job = try await store.job(id, of: context.client.name)
        else { throw Problem.verificationNotFound }
        try check(job, for: context.client)
        return job
    }

    /// Throws `GatewayError` unless the client may use the job's app now: it may have lost the app, or its key.
    private func check(_ job: VerificationJob, for client: Client) throws(GatewayError) {
        let apps = access.now.client(named: client.name)?.apps ?? .only([])
        try apps.require(job.result.bundleID)
    }

    private static func wait(in header: RequestHeader) throws(Problem) -> Duration {
        let parameters = try QueryParameters<Parameter>(header.query, maximumCount: 1)
        let wait = try parameters.seconds(.wait, upTo: WaitingReaders.Limits.seconds)
        return header.isHead ? .zero : wait
    }
}
