// SPDX-License-Identifier: Apache-2.0

internal import Cryptography
package import Gateway
internal import HTTPClient
package import JSON

/// One call of the App Store Server API, without host, app and token. Only valid calls can be created.
package struct ServerAPICall: Hashable, Sendable, Redacted {
    /// The content of a body. The raw values are media types.
    package enum BodyType: String, Hashable, Sendable {
        /// No body.
        case none = ""
        /// A JSON object.
        case json = "application/json"
        /// An image, which only Apple reads.
        case png = "image/png"
    }

    package let operation: ServerAPIOperation
    let method: TransportRequest.Method
    /// The path after the host, `/inApps/v1/…`.
    package let path: String
    /// The encoded query without `?`; nil for none.
    package let query: String?
    package let body: [UInt8]
    package let bodyType: BodyType
    /// The ID in the path: of a transaction, an original transaction, or an app transaction. Nil for a path without an
    /// ID.
    package let transactionID: String?
    /// The change of the Advanced Commerce API: a word of Apple's, such as `cancel`. Nil for another operation.
    package let change: String?

    package enum Limits {
        package static let queryBytes = 4096
        package static let queryItems = 64
        package static let bodyBytes = 64 << 10
        /// A retention message's image has 3840 × 2160 pixels at most.
        package static let imageBytes = 8 << 20
        /// The limits of a body's contents. The longest list in a body has the storefronts, some 175 values.
        static let body = JSONValue.Limits(bytes: bodyBytes, depth: 8, values: 1000)
    }

    package var description: String { "ServerAPICall(\(operation.rawValue))" }
}

/// A fault of a call: the broken rule. Holds no byte of the call.
package enum ServerAPICallFault: Error, Hashable, Sendable, CustomStringConvertible {
    case unknownPath
    /// The operations with this path have other methods.
    case wrongMethod(allowed: [String])
    case invalidPathParameter(ServerAPIParameter)
    case queryTooLong
    case tooManyQueryItems
    /// An item without `=`, a percent sign without two hexadecimal digits, or a plus sign.
    case malformedQuery
    /// A name that the operation does not have.
    case unknownQueryName
    case repeatedQueryName(ServerAPIParameter)
    case invalidQueryValue(ServerAPIParameter)
    case missingBody
    case unexpectedBody
    case bodyTooLarge(maximumBytes: Int)
    /// The body is no JSON object.
    case malformedBody(JSONFault)

    /// The fault and its remedy.
    package var description: String {
        switch self {
        case .unknownPath: "No operation of the App Store Server API has this path."
        case .wrongMethod(let allowed):
            "The operations with this path have the methods \(allowed.joined(separator: ", "))."
        case .invalidPathParameter(let parameter):
            parameter.isTransactionID
                ? "\(parameter.rawValue) in the path must be \(TransactionIDForm.description)."
                : "\(parameter.rawValue) in the path is malformed."
        case .queryTooLong: "The encoded query is longer than \(ServerAPICall.Limits.queryBytes) bytes."
        case .tooManyQueryItems: "The query has more than \(ServerAPICall.Limits.queryItems) items."
        case .malformedQuery: "The query must consist of name=value items; write a plus sign as %2B."
        case .unknownQueryName: "The query has a name that this operation does not have."
        case .repeatedQueryName(let parameter): "\(parameter.rawValue) may stand in the query only once."
        case .invalidQueryValue(let parameter):
            "\(parameter.rawValue) in the query must have 1 to \(ServerAPIParameter.Limits.queryValueBytes) visible ASCII "
                + "characters."
        case .missingBody: "This operation needs a body."
        case .unexpectedBody: "This operation has no body."
        case .bodyTooLarge(let maximumBytes): "The body is longer than \(maximumBytes) bytes."
        case .malformedBody(let fault): "The body must be a JSON object: \(fault)."
        }
    }
}

// MARK: - By operation

extension ServerAPICall {
    /// Creates a call of an operation.
    /// - Parameters:
    ///   - values: the values of the parameters in its path, in their order.
    ///   - query: the items of the query; those without a value are left out.
    package init(
        _ operation: ServerAPIOperation, _ values: [String] = [], query: [(ServerAPIParameter, String?)] = [],
        body: [UInt8] = []
    ) throws(ServerAPICallFault) {
        guard let template = ServerAPITemplate.all.first(where: { $0.operation == operation }) else {
            throw .unknownPath
        }
        // No parameter accepts an empty value.
        let missing = template.parameters.dropFirst(values.count).map { _ in "" }
        let items = query.compactMap { parameter, value in value.map { (parameter, $0) } }
        try self.init(template, Array(zip(template.parameters, values + missing)), query: items, body: body)
    }

    /// Creates a call after its parameters, names and values were checked against the template.
    init(
        _ template: ServerAPITemplate, _ values: [(parameter: ServerAPIParameter, value: String)],
        query items: [(ServerAPIParameter, String)], body: [UInt8]
    ) throws(ServerAPICallFault) {
        for (parameter, value) in values where !parameter.acceptsInPath(value) {
            throw .invalidPathParameter(parameter)
        }
        try template.check(items)
        try template.check(body: body)
        (operation, method) = (template.operation, template.method)
        path = template.path(values.map(\.value))
        query = items.isEmpty ? nil : ServerAPIQuery.text(of: items)
        // Encoding may triple what was received.
        guard query?.utf8.count ?? 0 <= Limits.queryBytes else { throw .queryTooLong }
        (self.body, bodyType) = (body, template.body)
        transactionID = values.first { $0.parameter.isTransactionID }?.value
        change = values.first { $0.parameter == .change }?.value
    }
}
