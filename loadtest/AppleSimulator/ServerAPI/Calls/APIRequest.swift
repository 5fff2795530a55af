// SPDX-License-Identifier: Apache-2.0

internal import JSON
internal import NIOHTTP1

/// A call of the API before anything is checked.
struct APIRequest: Sendable {
    let method: HTTPMethod
    /// The path behind the first slash, without the query.
    let path: Substring
    let query: APIQuery
    let headers: HTTPHeaders
    let body: [UInt8]

    private static let prefixes = ["/inApps/", "/advancedCommerce/"]

    /// Returns nil for a path that is no path of the API.
    init?(_ head: HTTPRequestHead, body: [UInt8]) {
        let parts = head.uri.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        guard let path = parts.first, Self.prefixes.contains(where: path.hasPrefix) else { return nil }
        method = head.method
        self.path = path.dropFirst()
        query = APIQuery(parts.count > 1 ? parts[1] : "")
        headers = head.headers
        self.body = body
    }

    private var mediaType: String? {
        headers.first(name: "Content-Type")?.split(separator: ";").first?.lowercased()
    }

    /// True for a body that says it is a PNG image, and begins as one.
    var isImage: Bool {
        mediaType == "image/png" && body.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A])
    }

    /// The members of the body; throws unless it is an object of JSON that says it is JSON.
    func members() throws(APIError) -> JSONValue {
        guard mediaType == "application/json" else { throw .badRequest }
        guard let value = try? JSONValue(parsing: body), value.members != nil else { throw .badRequest }
        return value
    }
}

/// The parameters of a query, each with all its values.
struct APIQuery: Hashable, Sendable {
    private var values: [String: [String]] = [:]

    init(_ query: Substring) {
        for pair in query.split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let value = parts.count > 1 ? parts[1].replacing("+", with: "%20") : ""
            values[parts[0].withoutPercentEncoding, default: []].append(value.withoutPercentEncoding)
        }
    }

    func all(_ name: String) -> [String] { values[name] ?? [] }

    func first(_ name: String) -> String? { values[name]?.first }

    /// Returns the values of an enumeration, or throws the error for another value.
    func all<Value: RawRepresentable<String>>(
        _ name: String, as type: Value.Type, or error: APIError
    ) throws(APIError) -> [Value] {
        try all(name).map { text throws(APIError) in
            guard let value = Value(rawValue: text) else { throw error }
            return value
        }
    }

    /// Returns a date in milliseconds, or throws the error for another value.
    func date(_ name: String, or error: APIError) throws(APIError) -> Int64? {
        guard let text = first(name) else { return nil }
        guard let date = Int64(text), date >= 0 else { throw error }
        return date
    }

    /// Returns a truth value in any case, or throws the error for another value.
    func flag(_ name: String, or error: APIError) throws(APIError) -> Bool? {
        guard let text = first(name) else { return nil }
        switch text.lowercased() {
        case "true": return true
        case "false": return false
        default: throw error
        }
    }
}

extension StringProtocol {
    /// The text without percent-encoding (RFC 3986 §2.1); the text as it is if a `%` lacks its two digits.
    var withoutPercentEncoding: String {
        Array(utf8).span.percentDecoded().map { String(decoding: $0, as: UTF8.self) } ?? String(self)
    }
}
