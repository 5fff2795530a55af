// SPDX-License-Identifier: Apache-2.0

internal import Clients
package import Customers
internal import Gateway
package import HTTPServer
internal import HTTPTypes
internal import JSON
package import Logging
internal import NIOCore
internal import Receipts

/// `/v1/ownership/{original_transaction_id}`: `PUT` binds a purchase to another account, as after a merge of accounts,
/// and `DELETE` to none. Clients need `may: [ownership]`.
package struct OwnershipRoutes: Sendable {
    enum Limits {
        static let body = ByteCount.kibibytes(4)
    }

    private let store: any OwnershipStore
    private let charging: RequestCharging
    private let logger: Logger

    /// - Parameter logger: receives a line for each change, whatever its level.
    package init(_ store: any OwnershipStore, charging: RequestCharging, logger: Logger) {
        (self.store, self.charging, self.logger) = (store, charging, logger.ofChanges)
    }

    package var routes: [Route] {
        [
            Route(.put, RouteLabel.ownership.rawValue, bodyLimit: Limits.body) { context, body in
                try charging.admit(context) { try transfer(context, body.bytes) }
            },
            Route(.delete, RouteLabel.ownership.rawValue) { context, _ in
                try charging.admit(context) { try forget(context) }
            },
        ]
    }

    private func transfer(_ context: RequestContext, _ body: ByteBuffer) throws -> ChargedWork {
        let id = try transactionID(context)
        guard RequestMediaType.json.accepts(context.header.contentType) else { throw Problem.unsupportedMediaType }
        let request = try OwnershipRequestBody(decoding: body.readableBytesUInt8Span)
        guard let bundleID = request.bundleID ?? context.client.apps.only else {
            throw Problem.appRequired("\"bundle_id\" is required unless the client has exactly one app.")
        }
        let chain = try chain(id, bundleID, request.environment, context)
        return ChargedWork(bundleID: chain.bundleID) {
            _ = try await record("transfer", chain, context) { () throws(StoreUnreachable) in
                try await store.transfer(chain, to: request.account)
                return true
            }
            return Reply { $0.member("transferred", id) }
        }
    }

    private func forget(_ context: RequestContext) throws -> ChargedWork {
        let id = try transactionID(context)
        let query = try OwnershipQuery(context.header.query)
        guard let bundleID = query.bundleID ?? context.client.apps.only else {
            throw Problem.invalidQuery(
                OwnershipQuery.Parameter.bundleID, "is required unless the client has exactly one app")
        }
        let chain = try chain(id, bundleID, query.environment, context)
        return ChargedWork(bundleID: chain.bundleID) {
            let wasBound = try await record("forget", chain, context) { () throws(StoreUnreachable) in
                try await store.forget(chain)
            }
            guard wasBound else { throw Problem.unboundPurchase }
            return Reply { $0.member("forgotten", id) }
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
        try context.client.apps.require(bundleID)
        return PurchaseChain(bundleID: bundleID, environment: environment, originalTransactionID: id)
    }

    /// Carries out a change and logs its outcome. No line has an account or a transaction ID.
    /// - Parameter change: returns false if no account had the purchase.
    private func record(
        _ operation: String, _ chain: PurchaseChain, _ context: RequestContext,
        _ change: () async throws(StoreUnreachable) -> Bool
    ) async throws(StoreUnreachable) -> Bool {
        let metadata: Logger.Metadata = [
            "client": "\(context.client.name)", "operation": "\(operation)",
            "environment": "\(chain.environment.rawValue)", "bundle_id": "\(chain.bundleID)",
        ]
        return try await logger.recording("Change of ownership", metadata, change) {
            ["outcome": $0 ? "done" : "not_bound"]
        }
    }
}

/// The JSON body of `PUT /v1/ownership/{original_transaction_id}`.
struct OwnershipRequestBody: Sendable {
    enum Field: String, CaseIterable {
        case bundleID = "bundle_id"
        case environment
        case account
    }

    /// Nil for the client's only app.
    let bundleID: String?
    let environment: Environment
    let account: Account

    init(decoding bytes: Span<UInt8>) throws(JSONFault) {
        var reader = JSONReader(bytes)
        var texts: [Field: String] = [:]
        _ = try reader.fields { (field: Field, reader) throws(JSONFault) in
            texts[field] = try reader.text()
        }
        try self.init(texts, at: reader.position)
    }

    private init(_ texts: [Field: String], at position: Int) throws(JSONFault) {
        func fault(_ rule: JSONFault.Rule, _ field: Field) -> JSONFault {
            JSONFault(rule, field: field.rawValue, at: position)
        }
        guard let id = texts[.account] else { throw fault(.missingField, .account) }
        guard let account = Account(id) else {
            throw fault(.notAccepted("1 to \(Account.Limits.bytes) bytes of text"), .account)
        }
        guard let environment = Environment(ofPurchases: texts[.environment]) else {
            throw fault(.notAccepted(#""Production" or "Sandbox""#), .environment)
        }
        if texts[.bundleID]?.isBundleID == false { throw fault(.notAccepted("a bundle ID"), .bundleID) }
        (bundleID, self.environment, self.account) = (texts[.bundleID], environment, account)
    }
}

/// The query of `DELETE /v1/ownership/{original_transaction_id}`.
struct OwnershipQuery: Sendable {
    enum Parameter: String, CaseIterable {
        case bundleID = "bundle_id"
        case environment
    }

    /// Nil for the client's only app.
    let bundleID: String?
    let environment: Environment

    init(_ text: String?) throws(Problem) {
        let parameters = try QueryParameters<Parameter>(text, maximumCount: Parameter.allCases.count)
        guard let environment = Environment(ofPurchases: try parameters.only(.environment)) else {
            throw .invalidQuery(Parameter.environment, "is Production or Sandbox")
        }
        bundleID = try parameters.only(.bundleID)
        self.environment = environment
        if bundleID?.isBundleID == false { throw .invalidQuery(Parameter.bundleID, "is no bundle ID") }
    }
}

extension Environment {
    /// Creates the environment that a request names, by default Production; nil for an environment in which Apple sells
    /// nothing.
    fileprivate init?(ofPurchases name: String?) {
        guard let environment = Environment(rawValue: name ?? Environment.production.rawValue), environment.isApples
        else { return nil }
        self = environment
    }
}
