// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import AppStore
internal import Clients
package import Gateway
package import HTTPServer
internal import HTTPTypes
package import Logging
internal import NIOCore
internal import Resilience

/// The proxy to the App Store Server API, for backends that hold no key:
/// `/v1/apple/{bundle_id}/{environment}/inApps/…`.
///
/// ```
/// request ──▶ limited? ──▶ path, app, call, right, key ──▶ admit ──▶ Apple ──▶ purge ──▶ audit ──▶ reply
///               │ known     │ fault                                              └─ changes only ─┘
///               └──▶ problem└──▶ charge, problem
/// ```
///
/// Only calls of a closed list are sent. The client of the Server API stays within Apple's quotas, retries reads, and
/// never sends a change twice.
package struct AppleProxy: Sendable {
    typealias Send = @Sendable (ServerAPIRequest, _ deadline: ContinuousClock.Instant) async -> ServerAPIResult

    enum Limits {
        /// The maximum size of a request's body. Apple's largest has a few hundred bytes.
        static let body = ByteCount.kibibytes(64)
    }

    private let send: Send
    private let hasKey: @Sendable (_ bundleID: String) -> Bool
    private let invalidation: CacheInvalidation?
    private let admission: ClientAdmission
    private let charging: RequestCharging
    private let timeout: Duration
    private let audit: AppleWriteAudit

    /// - Parameters:
    ///   - client: nil if Apple is not used.
    ///   - invalidation: the caches of Apple's results; nil if Apple is not used.
    ///   - timeout: the time for one call, with its retries.
    ///   - logger: receives a line for each change that a client requests of Apple.
    package init(
        _ client: ServerAPIClient?, invalidation: CacheInvalidation?, admission: ClientAdmission,
        charging: RequestCharging, timeout: Duration, logger: Logger
    ) {
        self.init(
            send: { await client?.sendToNamedHost($0, deadline: $1) ?? .unanswered(.upstreamUnavailable) },
            hasKey: { client?.hasKey(forApp: $0) ?? false }, invalidation: invalidation, admission: admission,
            charging: charging, timeout: timeout, logger: logger)
    }

    init(
        send: @escaping Send, hasKey: @escaping @Sendable (String) -> Bool, invalidation: CacheInvalidation?,
        admission: ClientAdmission, charging: RequestCharging, timeout: Duration, logger: Logger
    ) {
        self.send = send
        self.hasKey = hasKey
        self.invalidation = invalidation
        self.admission = admission
        self.charging = charging
        self.timeout = timeout
        audit = AppleWriteAudit(logger)
    }

    package var routes: [Route] {
        [HTTPRequest.Method.get, .post, .put].map { method in
            Route(method, RouteLabel.appleProxy.rawValue, bodyLimit: Limits.body) { context, body in
                try answer(context, method, body)
            }
        }
    }

    /// Answers a request. A request that is not sent to Apple is charged like an unreadable body.
    private func answer(
        _ context: RequestContext, _ method: HTTPRequest.Method, _ body: ReservedBody
    ) throws -> Step<Reply, any Error> {
        let unread = charging.requestClient(of: context.client, in: context)
        try admission.refuseIfLimited(unread)
        let request: ServerAPIRequest
        do {
            request = try read(context, method, body.bytes)
        } catch {
            return try admission.charge(unread) { throw error }
        }
        let client = charging.requestClient(of: context.client, asking: .apple(request.bundleID), in: context)
        return try admission.admit(client) { [reservation = body.reservation] in
            .wait {
                // The memory of the body, which the call holds.
                defer { withExtendedLifetime(reservation) {} }
                return .done(try await forward(request, of: context.client.name))
            }
        }
    }

    /// Reads a call, and checks that the client may send it.
    private func read(
        _ context: RequestContext, _ method: HTTPRequest.Method, _ body: ByteBuffer
    ) throws -> ServerAPIRequest {
        guard let target = AppleProxyTarget(context.match.parameter) else { throw Problem.notFound }
        guard context.client.apps.contains(target.bundleID) else { throw GatewayError.appNotPermitted }
        let isTyped = body.readableBytes == 0 || RequestMediaType.json.accepts(context.header.contentType)
        guard isTyped else { throw Problem.unsupportedMediaType }
        let call = try ServerAPICall(
            method: method.rawValue, path: target.path, query: context.header.query, body: Array(buffer: body))
        let right = Client.AppleRight(toCall: call.operation)
        guard context.client.appleRights(forApp: target.bundleID).contains(right) else {
            throw Problem.appleRightMissing(right)
        }
        guard hasKey(target.bundleID) else { throw GatewayError.serverAPINotConfigured }
        return ServerAPIRequest(
            call, bundleID: target.bundleID, environment: target.environment,
            share: call.operation.isPartOfVerification ? .withoutEvidence : .full)
    }

    private func forward(_ request: ServerAPIRequest, of client: String) async throws -> Reply {
        let result = await send(request, .now + timeout)
        guard request.call.operation.effect != .reads else { return try Reply(result) }
        let purge = await purge(after: result, of: request)
        audit.record(request, of: client, result, purge)
        return try Reply(result, mayHaveTakenEffect: result.mayHaveTakenEffect)
    }

    /// Purges the cached results about the customer whose state a change concerns, unless Apple certainly did not carry
    /// it out. A failed purge does not hide Apple's answer: the client would repeat the change.
    /// - Returns: nil if there is nothing to purge.
    private func purge(after result: ServerAPIResult, of request: ServerAPIRequest) async -> AppleWriteAudit.Purge? {
        let call = request.call
        guard call.operation.effect == .writes, result.mayHaveTakenEffect, let id = call.transactionID, let invalidation
        else { return nil }
        do throws(StoreUnreachable) {
            // Apple need not have confirmed that the app has such a transaction.
            try await invalidation.purge(transactionID: id, in: request.bundleID)
            return .done
        } catch {
            return .failed
        }
    }
}

extension VerificationOptions {
    /// A request costs what a verification by Apple costs.
    fileprivate static func apple(_ bundleID: String) -> VerificationOptions {
        var options = VerificationOptions()
        options.mode = .apple
        options.expectations.bundleID = bundleID
        return options
    }
}

extension Client.AppleRight {
    init(toCall operation: ServerAPIOperation) {
        self =
            switch operation.effect {
            case .reads: .read
            case .writes: .write
            case .writesForMany: .mass
            }
    }
}
