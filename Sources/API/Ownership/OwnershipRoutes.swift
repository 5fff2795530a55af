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

/// `/v1/ownership/{original_transaction_id}`: `PUT` binds a purchase to another account, as after a merge of accounts,
/// and `DELETE` to none. Clients need `may: [ownership]`.
package struct OwnershipRoutes: Sendable {
    enum Limits {
        static let body = ByteCount.kibibytes(4)
    }

    private let store: any OwnershipStore
    private let admission: ClientAdmission
    private let charging: RequestCharging
    private let audit: OwnershipAudit

    /// - Parameter logger: receives a line for each change.
    package init(
        _ store: any OwnershipStore, admission: ClientAdmission, charging: RequestCharging, logger: Logger
    ) {
        (self.store, self.admission, self.charging) = (store, admission, charging)
        audit = OwnershipAudit(logger)
    }

    package var routes: [Route] {
        [
            Route(.put, RouteLabel.ownership.rawValue, bodyLimit: Limits.body) { context, body in
                try admission.admit(context, charging) { try transfer(context, body.bytes) }
            },
            Route(.delete, RouteLabel.ownership.rawValue) { context, _ in
                try admission.admit(context, charging) { try forget(context) }
            },
        ]
    }

    private func transfer(_ context: RequestContext, _ body: ByteBuffer) throws -> ChargedWork {
        let id = try transactionID(context)
        guard RequestMediaType.json.accepts(context.header.contentType) else { throw Problem.unsupportedMediaType }
        let request = try OwnershipRequestBody(decoding: body.readableBytesUInt8Span)
        guard let bundleID = request.bundleID ?? context.client.apps.only else { throw Problem.appRequiredInBody }
        let chain = try chain(id, bundleID, request.environment, context)
        return ChargedWork(about: chain.bundleID) {
            try await audit.record(.transfer, chain, context) { () throws(StoreUnreachable) in
                try await store.transfer(chain, to: request.account)
                return true
            }
            return Reply(name: "transferred", id)
        }
    }

    private func forget(_ context: RequestContext) throws -> ChargedWork {
        let id = try transactionID(context)
        let query = try OwnershipQuery(context.header.query)
        guard let bundleID = query.bundleID ?? context.client.apps.only else { throw Problem.appRequiredInQuery }
        let chain = try chain(id, bundleID, query.environment, context)
        return ChargedWork(about: chain.bundleID) {
            let wasBound = try await audit.record(.forget, chain, context) { () throws(StoreUnreachable) in
                try await store.forget(chain)
            }
            guard wasBound else { throw Problem.unboundPurchase }
            return Reply(name: "forgotten", id)
        }
    }

    private func transactionID(_ context: RequestContext) throws(Problem) -> String {
        guard context.client.may.contains(.ownership) else { throw .rightMissing(.ownership) }
        guard context.match.parameter.isTransactionID else { throw .invalidTransactionID }
        return context.match.parameter
    }

    private func chain(
        _ id: String, _ bundleID: String, _ environment: Environment, _ context: RequestContext
    ) throws(GatewayError) -> PurchaseChain {
        guard context.client.apps.contains(bundleID) else { throw .appNotPermitted }
        return PurchaseChain(bundleID: bundleID, environment: environment, originalTransactionID: id)
    }
}

extension Reply {
    fileprivate init(name: StaticString, _ id: String) {
        var json = JSONWriter()
        json.object { json in json.member(name, id) }
        self.init(json: json.bytes)
    }
}

/// The log of changes of ownership: one line each, with the client. No line has an account or a transaction ID.
private struct OwnershipAudit: Sendable {
    enum Operation: String, Sendable {
        case transfer
        case forget
    }

    private let logger: Logger

    /// - Parameter logger: the logger of the lines, whatever its level.
    init(_ logger: Logger) {
        var logger = logger
        logger.logLevel = .trace
        self.logger = logger
    }

    /// Carries out a change and logs its outcome.
    @discardableResult
    func record(
        _ operation: Operation, _ chain: PurchaseChain, _ context: RequestContext,
        _ change: () async throws(StoreUnreachable) -> Bool
    ) async throws(StoreUnreachable) -> Bool {
        var metadata: Logger.Metadata = [
            "client": "\(context.client.name)", "operation": "\(operation.rawValue)",
            "environment": "\(chain.environment.rawValue)", "bundle_id": "\(chain.bundleID)",
        ]
        do throws(StoreUnreachable) {
            let hasChanged = try await change()
            metadata["outcome"] = hasChanged ? "done" : "not_bound"
            logger.notice("Change of ownership", metadata: metadata)
            return hasChanged
        } catch {
            metadata["outcome"] = "store_unreachable"
            logger.notice("Change of ownership", metadata: metadata)
            throw error
        }
    }
}
