// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Gateway
internal import HTTPServer
internal import HTTPTypes
internal import JSON
internal import Receipts

/// The JSON body of `PUT /v1/ownership/{original_transaction_id}`.
struct OwnershipRequestBody: Sendable {
    enum Field: String, CaseIterable {
        case bundleID = "bundle_id"
        case environment
        case account
    }

    enum Limits {
        /// The bytes of a text.
        static let textBytes = 256
    }

    /// Nil for the client's only app.
    let bundleID: String?
    let environment: Environment
    let account: Account

    init(decoding bytes: Span<UInt8>) throws(JSONFault) {
        var reader = JSONReader(bytes)
        var texts: [Field: String] = [:]
        try reader.beginObject()
        while let key = try reader.nextKey() {
            let name = try reader.value(of: key, maximumBytes: Limits.textBytes)
            guard let field = Field(rawValue: name) else {
                throw JSONFault(.unknownField, field: String(name.prefix(64)), at: key.range.lowerBound)
            }
            guard texts[field] == nil else {
                throw JSONFault(.duplicateField, field: name, at: key.range.lowerBound)
            }
            texts[field] = try reader.text(of: field)
        }
        try reader.endDocument()
        try self.init(texts, at: reader.position)
    }

    private init(_ texts: [Field: String], at position: Int) throws(JSONFault) {
        func fault(_ rule: JSONFault.Rule, _ field: Field) -> JSONFault {
            JSONFault(rule, field: field.rawValue, at: position)
        }
        guard let id = texts[.account] else { throw fault(.missingField, .account) }
        guard let account = Account(id) else { throw fault(.notAccepted(Self.accountForm), .account) }
        guard let environment = Environment(ofPurchases: texts[.environment]) else {
            throw fault(.notAccepted(#""Production" or "Sandbox""#), .environment)
        }
        if texts[.bundleID]?.isBundleID == false { throw fault(.notAccepted("a bundle ID"), .bundleID) }
        (bundleID, self.environment, self.account) = (texts[.bundleID], environment, account)
    }

    private static let accountForm = "1 to \(Account.Limits.bytes) bytes of text"
}

extension JSONReader {
    fileprivate mutating func text(of field: OwnershipRequestBody.Field) throws(JSONFault) -> String {
        do throws(JSONFault) {
            return try value(of: try string(), maximumBytes: OwnershipRequestBody.Limits.textBytes)
        } catch {
            throw error.inField(field.rawValue)
        }
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

    /// - Parameter text: the query as sent; nil for none.
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

extension Problem {
    static let appRequiredInBody: Problem = {
        var problem = Problem(
            .badRequest, .invalidBody, "\"bundle_id\" is required unless the client has exactly one app.")
        (problem.field, problem.fault) = ("bundle_id", JSONFault.Rule.missingField.name)
        return problem
    }()

    static let appRequiredInQuery = invalidQuery(
        OwnershipQuery.Parameter.bundleID, "is required unless the client has exactly one app")

    static let unboundPurchase = Problem(
        .notFound, .notFound,
        "This purchase is bound to no account. Check bundle_id and environment, and send its original transaction ID.")
}
