// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Clients
package import Customers
package import Gateway
package import HTTPServer
internal import HTTPTypes
internal import JSON
package import Logging
internal import NIOCore
internal import Receipts
internal import Resilience
internal import Synchronization

/// `POST /v1/erasures`: deletes everything that is stored about a customer. Clients need `may: [erase]`.
///
/// The route reports success once everything is deleted. After any other answer the client should repeat the request;
/// deleted data stays deleted.
package struct ErasureRoute: Sendable {
    package enum Limits {
        static let body = ByteCount.kibibytes(64)
        /// The time that a search of full logs may take.
        package static let wait: Duration = .seconds(600)
        /// The erasures of a node at a time, of different clients.
        static let atOnce = 4
        /// The seconds after which a client may try again while another erasure runs.
        static let retryAfter = 10
    }

    private let erasure: Erasure
    private let admission: ClientAdmission
    private let charging: RequestCharging
    private let observe: ErasureObserver
    private let logger: Logger
    private let places = ErasurePlaces()

    /// - Parameter logger: receives a line for each request, whatever its level. No line has an ID or an account.
    package init(
        _ erasure: Erasure, admission: ClientAdmission, charging: RequestCharging, observe: @escaping ErasureObserver,
        logger: Logger
    ) {
        (self.erasure, self.observe) = (erasure, observe)
        (self.admission, self.charging) = (admission, charging)
        var logger = logger
        logger.logLevel = .trace
        self.logger = logger
    }

    package var route: Route {
        Route(
            .post, RouteLabel.erasures.rawValue, bodyLimit: Limits.body, waitLimit: Limits.wait
        ) { context, body in
            try admission.admit(context, charging, isLong: true) { try work(context, body) }
        }
    }

    private func work(_ context: RequestContext, _ body: ReservedBody) throws -> ChargedWork {
        guard context.client.may.contains(.erase) else { throw Problem.rightMissing(.erase) }
        guard RequestMediaType.json.accepts(context.header.contentType) else { throw Problem.unsupportedMediaType }
        let request = try ErasureRequestBody(decoding: body.bytes.readableBytesUInt8Span)
        guard context.client.apps.contains(request.bundleID) else { throw GatewayError.appNotPermitted }
        return ChargedWork(about: request.bundleID) {
            let client = context.client.name
            guard places.take(for: client) else { throw Problem.erasureInProgress }
            defer { places.release(of: client) }
            let count = try await erase(request, of: client)
            return Reply(count)
        }
    }

    private func erase(
        _ request: ErasureRequestBody, of client: String
    ) async throws(StoreUnreachable) -> ErasureCount {
        var metadata: Logger.Metadata = ["client": "\(client)", "bundle_id": "\(request.bundleID)"]
        do throws(StoreUnreachable) {
            let count = try await erasure.erase(
                request.bundleID, originalTransactionIDs: request.originalTransactionIDs, account: request.account)
            metadata["outcome"] = "done"
            for (kind, number) in count { metadata["erased_\(kind.rawValue)"] = .stringConvertible(number) }
            logger.notice("Erasure of a customer's data", metadata: metadata)
            observe(.done(count))
            return count
        } catch {
            metadata["outcome"] = "store_unreachable"
            logger.notice("Erasure of a customer's data", metadata: metadata)
            observe(.failed)
            throw error
        }
    }
}

/// The places of the erasures that a node does at a time: each reads whole logs, and all cached results. Each client
/// has one place.
private final class ErasurePlaces: Sendable {
    private let clients = Mutex<Set<String>>([])

    func take(for client: String) -> Bool {
        clients.withLock { $0.count < ErasureRoute.Limits.atOnce && $0.insert(client).inserted }
    }

    func release(of client: String) { clients.withLock { _ = $0.remove(client) } }
}

extension Problem {
    static let erasureInProgress = Problem(
        .serviceUnavailable, .overloaded,
        "This node is erasing data for this client, or for several others. Retry later.",
        headerFields: [.retryAfter: String(ErasureRoute.Limits.retryAfter)])
}

extension Reply {
    /// Creates the answer: the number of deleted entries of each kind, 0 included.
    fileprivate init(_ count: ErasureCount) {
        var json = JSONWriter()
        json.object { json in
            json.key("erased")
            json.object { json in
                for kind in CustomerData.allCases {
                    json.key(named: kind.rawValue)
                    json.integer(count[kind] ?? 0)
                }
            }
        }
        self.init(json: json.bytes)
    }
}
