// SPDX-License-Identifier: Apache-2.0

package import AppStore
internal import Clients
package import Gateway
package import HTTPServer
internal import HTTPTypes
internal import JSON
package import Logging
internal import NIOCore
internal import Resilience

/// The proxy to the App Store Server API, for backends that hold no key:
/// `/v1/apple/{bundle_id}/{environment}/inApps/…` and `…/advancedCommerce/…`.
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
        static let body = ByteCount.bytes(ServerAPICall.Limits.bodyBytes)
        /// For PUT, by which images are uploaded. The call limits all other bodies.
        static let image = ByteCount.bytes(ServerAPICall.Limits.imageBytes)
    }

    private let send: Send
    private let hasKey: @Sendable (_ bundleID: String) -> Bool
    private let invalidation: CacheInvalidation?
    private let charging: RequestCharging
    private let timeout: Duration
    private let logger: Logger

    /// - Parameters:
    ///   - client: nil if Apple is not used.
    ///   - invalidation: the caches of Apple's results; nil if Apple is not used.
    ///   - timeout: the time for one call, with its retries.
    ///   - logger: receives a line for each change that a client requests of Apple, whatever its level.
    package init(
        _ client: ServerAPIClient?, invalidation: CacheInvalidation?, charging: RequestCharging, timeout: Duration,
        logger: Logger
    ) {
        self.init(
            send: { await client?.sendToNamedHost($0, deadline: $1) ?? .unanswered(.upstreamUnavailable) },
            hasKey: { client?.hasKey(forApp: $0) ?? false }, invalidation: invalidation, charging: charging,
            timeout: timeout, logger: logger)
    }

    init(
        send: @escaping Send, hasKey: @escaping @Sendable (String) -> Bool, invalidation: CacheInvalidation?,
        charging: RequestCharging, timeout: Duration, logger: Logger
    ) {
        (self.send, self.hasKey, self.invalidation) = (send, hasKey, invalidation)
        (self.charging, self.timeout, self.logger) = (charging, timeout, logger.ofChanges)
    }

    package var routes: [Route] {
        [HTTPRequest.Method.get, .post, .put, .delete].map { method in
            Route(
                method, RouteLabel.appleProxy.rawValue, bodyLimit: method == .put ? Limits.image : Limits.body,
                problems: { Reply(asApple: $0, requestID: $1) }
            ) { context, body in
                try answer(context, method, body)
            }
        }
    }

    /// Answers a request. A request that is not sent to Apple is charged like an unreadable body.
    private func answer(
        _ context: RequestContext, _ method: HTTPRequest.Method, _ body: ReservedBody
    ) throws -> Step<Reply, any Error> {
        try charging.admission.refuseIfLimited(charging.requestClient(of: context.client, in: context))
        let request: ServerAPIRequest
        do {
            request = try read(context, method, body.bytes)
        } catch {
            return try charging.refuse(error, to: context.client, in: context)
        }
        // A request costs what a verification by Apple costs.
        let options = VerificationOptions(costing: .apple, request.bundleID)
        let client = charging.requestClient(of: context.client, asking: options, in: context)
        return try charging.admission.admit(client) { [reservation = body.reservation] in
            .wait {
                // The memory of the body, which the call holds.
                defer { withExtendedLifetime(reservation) {} }
                return .done(try await forward(request, of: context.client.name))
            }
        }
    }

    private func read(
        _ context: RequestContext, _ method: HTTPRequest.Method, _ body: ByteBuffer
    ) throws -> ServerAPIRequest {
        guard let target = AppleProxyTarget(context.match.parameter) else { throw Problem.notFound }
        try context.client.apps.require(target.bundleID)
        let call = try ServerAPICall(
            method: method.rawValue, path: target.path, query: context.header.query, body: Array(buffer: body))
        try call.check(contentType: context.header.contentType)
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
        record(request, of: client, result, purge)
        return try Reply(result, mayHaveTakenEffect: result.mayHaveTakenEffect)
    }

    /// Purges the cached results about the customer whose state a change concerns, unless Apple certainly did not carry
    /// it out. A failed purge does not hide Apple's answer: the client would repeat the change.
    /// - Returns: nil if there is nothing to purge.
    private func purge(after result: ServerAPIResult, of request: ServerAPIRequest) async -> Purge? {
        guard result.mayHaveTakenEffect, let id = request.call.transactionID, let invalidation else { return nil }
        do throws(StoreUnreachable) {
            // Apple need not have confirmed that the app has such a transaction.
            try await invalidation.purge(transactionID: id, in: request.bundleID)
            return .done
        } catch {
            return .failed
        }
    }

    /// The outcome of the purge after a change.
    private enum Purge: String {
        case done
        /// The shared store did not confirm it: cached results are used until they expire.
        case failed
    }

    /// Logs a change that a client requested of Apple, with Apple's answer. No line has a transaction ID or a body.
    private func record(_ request: ServerAPIRequest, of client: String, _ result: ServerAPIResult, _ purge: Purge?) {
        var metadata: Logger.Metadata = [
            "client": "\(client)", "operation": "\(request.call.operation.rawValue)",
            "environment": "\(request.environment.rawValue)", "bundle_id": "\(request.bundleID)",
            "outcome": "\(result.outcome)",
        ]
        metadata["change"] = request.call.change.map { "\($0)" }
        metadata["http_status"] = result.httpStatus.map { .stringConvertible($0) }
        metadata["error_code"] = result.errorCode.map { .stringConvertible($0) }
        metadata["purge"] = purge.map { "\($0.rawValue)" }
        logger.notice("Change requested of Apple", metadata: metadata)
    }
}

extension Client.AppleRight {
    init(toCall operation: ServerAPIOperation) {
        self =
            switch operation.effect {
            case .reads: .read
            case .writes: .write
            case .writesForMany: .mass
            case .charges: .commerce
            }
    }
}

extension ServerAPICall {
    /// Requires the media type of the call's body.
    fileprivate func check(contentType: String?) throws(Problem) {
        switch bodyType {
        case .none: return
        case .json: guard RequestMediaType.json.accepts(contentType) else { throw .unsupportedMediaType }
        case .png: guard RequestMediaType.png.accepts(contentType) else { throw .notAnImage }
        }
    }
}

/// The part of a proxy path after `/v1/apple/`: `{bundle_id}/{environment}/inApps/…`. Nothing is decoded.
struct AppleProxyTarget: Hashable, Sendable {
    let bundleID: String
    let environment: UpstreamEnvironment
    /// The path at Apple, such as `/inApps/…`, as it was sent.
    let path: String

    init?(_ text: String) {
        let parts = text.utf8.split(separator: UInt8(ascii: "/"), maxSplits: 2, omittingEmptySubsequences: false)
            .map { String(Substring($0)) }
        guard parts.count == 3, parts[0].isBundleID, let environment = UpstreamEnvironment(rawValue: parts[1])
        else { return nil }
        bundleID = parts[0]
        self.environment = environment
        // Apple's libraries append `/inApps/…` to a base URL that may end with a slash.
        path = parts[2].hasPrefix("/") ? parts[2] : "/" + parts[2]
    }
}

extension String {
    /// The maximum characters of a bundle ID (App Store Connect).
    private static let maximumBundleIDBytes = 155

    /// True for the form of a bundle ID, which becomes a claim of the token for Apple, and stands in log lines.
    package var isBundleID: Bool {
        (1...Self.maximumBundleIDBytes).contains(utf8.count) && utf8.first != UInt8(ascii: ".")
            && utf8.allSatisfy(ASCII.isSafe)
    }
}
