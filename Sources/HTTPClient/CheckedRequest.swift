// SPDX-License-Identifier: Apache-2.0

/// A request that passed all checks: no byte in it changes the meaning of other bytes. Only the checks create it.
struct CheckedRequest: Sendable {
    private enum Limits {
        /// Longer than any URL of an API.
        static let urlBytes = 8192
        static let headers = 64
        /// The bytes of one field, name and value together.
        static let headerBytes = 16_384
    }

    let method: TransportRequest.Method
    let url: String
    let isSecure: Bool
    let isRepeatable: Bool
    /// Header lines in libcurl's form: `Name: value`, or `Name;` for an empty value.
    let headerLines: [String]
    let body: [UInt8]

    init(_ request: TransportRequest, under configuration: TransportConfiguration) throws(TransportError) {
        try Self.check(url: request.url, under: configuration)
        var headers = request.headers
        if headers.values(of: "User-Agent").isEmpty {
            headers.insert(TransportHeader(name: "User-Agent", value: configuration.userAgent), at: 0)
        }
        guard headers.count <= Limits.headers else { throw .invalidHeader }
        for header in headers { try Self.check(header) }
        method = request.method
        url = request.url
        isSecure = request.url.hasScheme("https")
        isRepeatable = request.isRepeatable
        body = request.body
        // A name with only a colon removes libcurl's own header: waiting for `100 Continue` costs a round trip.
        let unset = headers.values(of: "Content-Type").isEmpty ? ["Content-Type:"] : []
        headerLines = ["Expect:"] + unset + headers.map(\.line)
    }

    private static func check(url: String, under configuration: TransportConfiguration) throws(TransportError) {
        guard url.utf8.count <= Limits.urlBytes, url.utf8.allSatisfy(\.isVisible) else { throw .invalidURL }
        if url.hasScheme("https") { return }
        guard url.hasScheme("http") else { throw .invalidURL }
        guard configuration.allowsPlainHTTP else { throw .insecureURL }
    }

    fileprivate static func check(_ header: TransportHeader) throws(TransportError) {
        let (name, value) = (header.name.utf8, header.value.utf8)
        guard !name.isEmpty, name.allSatisfy(\.isTokenCharacter), value.allSatisfy(\.isFieldCharacter),
            name.count + value.count <= Limits.headerBytes,
            !reservedNames.contains(where: { $0.utf8.isSameText(as: name) })
        else { throw .invalidHeader }
    }

    /// Fields that frame or route a message. Two values of one allow request smuggling.
    private static let reservedNames = [
        "Connection", "Content-Length", "Expect", "Host", "Keep-Alive", "Proxy-Connection", "TE", "Trailer",
        "Transfer-Encoding", "Upgrade",
    ]
}

extension TransportHeader {
    /// False for a field that no request may have: name or value is not valid, or only the transport may set it.
    package var isSendable: Bool { (try? CheckedRequest.check(self)) != nil }

    /// For a value of only whitespace, libcurl would leave out the field.
    fileprivate var line: String {
        value.utf8.allSatisfy(\.isWhitespace) ? "\(name);" : "\(name): \(value)"
    }
}

extension String {
    fileprivate func hasScheme(_ scheme: String) -> Bool {
        let start = scheme + "://"
        return utf8.prefix(start.utf8.count).isSameText(as: start.utf8)
    }
}
