// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import JSON
internal import NIOHTTP1

/// A call of the API before anything is checked.
struct APIRequest: Sendable {
    let method: HTTPMethod
    /// The path behind `/inApps/`, without the query.
    let path: Substring
    let query: APIQuery
    let headers: HTTPHeaders
    let body: [UInt8]

    static let prefix = "/inApps/"

    /// Returns nil for a path that is no path of the API.
    init?(_ head: HTTPRequestHead, body: [UInt8]) {
        let parts = head.uri.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        guard let path = parts.first, path.hasPrefix(Self.prefix) else { return nil }
        method = head.method
        self.path = path.dropFirst(Self.prefix.utf8.count)
        query = APIQuery(parts.count > 1 ? parts[1] : "")
        headers = head.headers
        self.body = body
    }

    /// The members of the body; throws unless it is an object of JSON that says it is JSON.
    func members() throws(APIError) -> JSONValue {
        let type = headers.first(name: "Content-Type")?.split(separator: ";").first
        guard type?.lowercased() == "application/json" else { throw .badRequest }
        guard let value = try? JSONValue(parsing: body), value.members != nil else { throw .badRequest }
        return value
    }
}
