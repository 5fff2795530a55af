// SPDX-License-Identifier: Apache-2.0

internal import JSON

// MARK: - From a client's request

extension ServerAPICall {
    /// Creates the call that a request stands for. What is sent to Apple is written anew: no byte of the request's path
    /// or query is passed on unchecked.
    ///
    /// - Parameters:
    ///   - path: the path at Apple, `/inApps/v1/…`, as received. A slash at its end is ignored.
    ///   - query: the text after `?`, as received; nil for none.
    package init(method: String, path: String, query: String?, body: [UInt8]) throws(ServerAPICallFault) {
        var segments = path.split(separator: "/", omittingEmptySubsequences: false)
        guard segments.first == "" else { throw .unknownPath }
        if segments.last == "" { segments.removeLast() }
        let (template, values) = try ServerAPITemplate.matching(method, Array(segments.dropFirst()))
        try self.init(template, values, query: ServerAPIQuery.items(of: query ?? ""), body: body)
    }
}

extension ServerAPITemplate {
    typealias Values = [(parameter: ServerAPIParameter, value: String)]

    static func matching(
        _ method: String, _ path: [Substring]
    ) throws(ServerAPICallFault) -> (template: ServerAPITemplate, values: Values) {
        let similar = all.compactMap { template in template.values(of: path).map { (template, $0) } }
        // A word of one template, such as `extend`, is no valid parameter of another.
        let found = similar.filter { _, values in values.allSatisfy { $0.parameter.acceptsInPath($0.value) } }
        if let match = found.first(where: { $0.0.methodName == method }) { return match }
        if !found.isEmpty { throw .wrongMethod(allowed: found.map(\.0.methodName)) }
        let malformed = similar.first?.1.first { !$0.parameter.acceptsInPath($0.value) }
        throw malformed.map { .invalidPathParameter($0.parameter) } ?? .unknownPath
    }

    func check(_ items: [(ServerAPIParameter, String)]) throws(ServerAPICallFault) {
        guard items.count <= ServerAPICall.Limits.queryItems else { throw .tooManyQueryItems }
        var names: Set<ServerAPIParameter> = []
        for (parameter, value) in items {
            guard query.contains(parameter) else { throw .unknownQueryName }
            guard names.insert(parameter).inserted || parameter.isRepeatable else {
                throw .repeatedQueryName(parameter)
            }
            guard ServerAPIParameter.acceptsInQuery(value) else { throw .invalidQueryValue(parameter) }
        }
    }

    func check(body sent: [UInt8]) throws(ServerAPICallFault) {
        guard body != .none else {
            guard sent.isEmpty else { throw .unexpectedBody }
            return
        }
        guard !sent.isEmpty else { throw .missingBody }
        let maximumBytes = body == .png ? ServerAPICall.Limits.imageBytes : ServerAPICall.Limits.bodyBytes
        guard sent.count <= maximumBytes else { throw .bodyTooLarge(maximumBytes: maximumBytes) }
        guard body == .json else { return }
        do throws(JSONFault) {
            let value = try JSONValue(parsing: sent, limits: ServerAPICall.Limits.body)
            if value.members == nil { throw JSONFault(.notAnObject, at: 0) }
        } catch {
            throw .malformedBody(error)
        }
    }
}

/// The query of a call: names of a closed list, and percent-encoded values.
enum ServerAPIQuery {
    static func items(of query: String) throws(ServerAPICallFault) -> [(ServerAPIParameter, String)] {
        guard query.utf8.count <= ServerAPICall.Limits.queryBytes else { throw .queryTooLong }
        guard !query.isEmpty else { return [] }
        var items: [(ServerAPIParameter, String)] = []
        for text in query.split(separator: "&", omittingEmptySubsequences: false) {
            guard items.count < ServerAPICall.Limits.queryItems else { throw .tooManyQueryItems }
            items.append(try item(text))
        }
        return items
    }

    private static func item(_ text: Substring) throws(ServerAPICallFault) -> (ServerAPIParameter, String) {
        guard let sign = text.firstIndex(of: "="), let value = decode(text[sign...].dropFirst()) else {
            throw .malformedQuery
        }
        guard let parameter = ServerAPIParameter(rawValue: String(text[..<sign])) else { throw .unknownQueryName }
        return (parameter, value)
    }

    /// Decodes a percent-encoded value of visible ASCII (RFC 3986 §2.1). A plus sign is rejected, because some read it
    /// as a space.
    private static func decode(_ text: Substring) -> String? {
        let sent = Array(text.utf8)
        guard !sent.contains(UInt8(ascii: "+")), let bytes = sent.span.percentDecoded(),
            bytes.allSatisfy(\.isVisible)
        else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }

    static func text(of items: [(ServerAPIParameter, String)]) -> String {
        items.map { "\($0.rawValue)=\(encode($1))" }.joined(separator: "&")
    }

    /// Encodes all but the unreserved characters (RFC 3986 §2.3).
    private static func encode(_ value: String) -> String {
        value.utf8.reduce(into: "") { text, byte in
            let isUnreserved = ASCII.isSafe(byte) || byte == UInt8(ascii: "~")
            text += isUnreserved ? String(UnicodeScalar(byte)) : "%" + ASCII.hexadecimal([byte]).uppercased()
        }
    }
}
