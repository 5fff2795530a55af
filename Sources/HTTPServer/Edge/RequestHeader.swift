// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Clients
internal import HTTPTypes
internal import Receipts
internal import Telemetry

/// The header of a request with the fields that the edge uses, found in one pass. Ambiguous fields become nil.
///
/// A class, because a header is passed on many times and never changes.
package final class RequestHeader: Sendable {
    /// The fields, as sent.
    let fields: FieldLines
    let method: HTTPRequest.Method
    /// The path as sent, without scheme, authority and query. Nothing is decoded.
    let path: String
    /// The query without its question mark; nil without a query. It may hold a key, so it never reaches a log.
    package let query: String?
    /// The ID that joins the log lines and the answer of this request.
    let requestID: RequestID
    let credentials: Credentials
    /// The field `Content-Type`; nil for none or several.
    package let contentType: String?
    /// The field `traceparent`; nil for none or several.
    let traceparent: String?
    /// The length the client announced; nil for chunked bodies and for none.
    let announcedBytes: Int?
    /// The destination host and port; nil in HTTP/1.0 without `Host`.
    let authority: RequestAuthority?
    /// The site whose page sent the request, if a browser sent it.
    package let origin: SingleValue
    /// True if the client waits for `100 Continue` before it sends the body; nil for an unknown expectation.
    let expectsContinue: Bool?
    /// True for a request with `Prefer` or `Idempotency-Key`, which may be answered later.
    package let hasDeferralFields: Bool
    /// True for HTTP/1.0, in which answers are not chunked (RFC 9112 §6.1).
    let isHTTP10: Bool
    /// True for the last request of its connection: HTTP/1.0 without keep-alive, and all spellings of close (RFC 9112
    /// §9.3). A request to upgrade is answered without the upgrade, and later input is not read.
    let isLast: Bool

    /// - Throws: the reason to refuse the request. The parser has already refused a body without one clear length.
    init(_ head: RequestHead) throws(EdgeRefusal) {
        let fields = EdgeFields(head.fields)
        guard let target = RequestTarget(head.target, head.method) else { throw .malformed }
        let sentAuthority = try fields.authority(in: head.version)
        self.fields = head.fields
        method = head.method
        (path, query) = target.parts
        origin = fields.origin
        hasDeferralFields = fields.hasDeferralFields
        // RFC 9112 §3.2.2: the host of a whole URL goes before the field.
        authority = target.authority ?? sentAuthority
        requestID = RequestID(sent: fields.requestID)
        credentials = fields.credentials
        contentType = fields.contentType.only
        traceparent = fields.traceparent.only
        announcedBytes = fields.announcedBytes
        // RFC 9110 §10.1.1: HTTP/1.0 knows no 100 Continue, and a client that sends no body does not wait for it.
        isHTTP10 = head.version == .http1_0
        let mayWait = head.version != .http1_0 && fields.announcesBody
        expectsContinue = fields.expectsContinue.map { $0 && mayWait }
        isLast = fields.isLast(in: head.version)
    }

    package var isHead: Bool { method == .head }

    package func values(of name: String) -> [String] { fields.values(of: name) }

    /// Returns the elements of a list, split at every comma, the last element first.
    func lastElements(of name: String, maximumCount: Int) -> [String] {
        fields.lastElements(of: name, maximumCount: maximumCount)
    }
}

/// The target of a request (RFC 9112 §3.2): a path, a whole URL, or the asterisk of OPTIONS.
private struct RequestTarget {
    let path: String
    let authority: RequestAuthority?

    /// - Returns: nil for anything else. CONNECT, which has a form of its own, has already been refused.
    init?(_ text: String, _ method: HTTPRequest.Method) {
        if text.utf8.first == UInt8(ascii: "/") || text == "*" && method == .options {
            path = text
            authority = nil
            return
        }
        guard let rest = Self.behindScheme(text) else { return nil }
        let end = rest.utf8.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") } ?? rest.endIndex
        // RFC 9110 §4.2.1: an http URL has a host; §4.2.4: and no user.
        guard end > rest.startIndex, let authority = RequestAuthority(String(rest[..<end])) else { return nil }
        let path = rest[end...]
        self.path = path.utf8.first == UInt8(ascii: "/") ? String(path) : "/" + path
        self.authority = authority
    }

    /// The path, and the query after the first question mark (RFC 3986 §3.4).
    var parts: (path: String, query: String?) {
        guard let mark = path.utf8.firstIndex(of: UInt8(ascii: "?")) else { return (path, nil) }
        return (String(path[..<mark]), String(path[path.utf8.index(after: mark)...]))
    }

    private static func behindScheme(_ text: String) -> Substring? {
        guard let end = text.utf8.firstIndex(of: UInt8(ascii: ":")) else { return nil }
        guard ["http", "https"].contains(text[..<end].lowercased()), text[end...].hasPrefix("://") else { return nil }
        return text[end...].dropFirst(3)
    }
}

// MARK: - Fields

private struct EdgeFields {
    private(set) var credentials = Credentials()
    private(set) var contentType = SingleValue.none
    private(set) var traceparent = SingleValue.none
    private(set) var announcedBytes: Int?
    private(set) var expectsContinue: Bool? = false
    private(set) var announcesBody = false
    private(set) var origin = SingleValue.none
    private(set) var hasDeferralFields = false
    private var wantsUpgrade = false
    private var isClosing = false
    private var isKeptAlive = false
    /// Empty, and so not used, if sent several times.
    private(set) var requestID: String?
    private var hosts = SingleValue.none

    init(_ fields: FieldLines) {
        for index in fields.indices { add(fields.name(at: index), fields.value(at: index)) }
    }

    private mutating func add(_ name: Span<UInt8>, _ value: Span<UInt8>) {
        switch FieldName(name) {
        case "host": hosts.add(String(copying: value))
        case "content-type": contentType.add(RequestMediaType.text(value))
        // The parser refuses a header with two such fields.
        case "content-length":
            announcedBytes = Int(String(copying: value))
            announcesBody = announcedBytes != 0
        case "authorization": credentials.add(authorization: String(copying: value))
        case "x-api-key": credentials.add(apiKey: String(copying: value))
        case "x-request-id": requestID = requestID == nil ? String(copying: value) : ""
        // Two of them are one list, and no such list is known.
        case "expect":
            expectsContinue = expectsContinue == false && value.equalsIgnoringCase("100-continue") ? true : nil
        case "traceparent": traceparent.add(String(copying: value))
        case "transfer-encoding": announcesBody = true
        case "connection": addConnectionOptions(value)
        case "origin": origin.add(String(copying: value))
        case "upgrade": wantsUpgrade = true
        case "prefer", "idempotency-key": hasDeferralFields = true
        default: break
        }
    }

    private mutating func addConnectionOptions(_ list: Span<UInt8>) {
        var start = 0
        while start <= list.count {
            let end = list.firstIndex(of: UInt8(ascii: ","), from: start) ?? list.count
            switch FieldName(list.extracting(list.trimmed(start..<end))) {
            case "close": isClosing = true
            case "keep-alive": isKeptAlive = true
            default: break
            }
            start = end + 1
        }
    }

    /// RFC 9112 §9.3.
    func isLast(in version: RequestHead.Version) -> Bool {
        isClosing || wantsUpgrade || version == .http1_0 && !isKeptAlive
    }

    /// RFC 9112 §3.2: exactly one `Host` in HTTP/1.1, never more, and nothing in it but a host and a port.
    func authority(in version: RequestHead.Version) throws(EdgeRefusal) -> RequestAuthority? {
        switch hosts {
        case .none where version == .http1_0: return nil
        case .one(let host):
            guard let authority = RequestAuthority(host) else { throw .malformed }
            return authority
        case .none, .several: throw .malformed
        }
    }
}

/// The value of a field that should occur once.
package enum SingleValue: Hashable, Sendable {
    case none
    case one(String)
    case several

    var only: String? {
        if case .one(let value) = self { value } else { nil }
    }

    mutating func add(_ value: String) {
        self = if case .none = self { .one(value) } else { .several }
    }
}

/// The name of a field, compared without case (RFC 9110 §5.1).
private struct FieldName: ~Escapable {
    let text: Span<UInt8>

    @_lifetime(copy text)
    init(_ text: Span<UInt8>) { self.text = text }

    /// - Parameter pattern: in lower case.
    @inline(__always)
    static func ~= (pattern: String, name: borrowing FieldName) -> Bool { name.text.equalsIgnoringCase(pattern) }
}

/// The `Content-Type` of requests (RFC 9110 §8.3). Parameters are allowed, `charset` only as `utf-8`.
package enum RequestMediaType: String {
    case json = "application/json"
    case form = "application/x-www-form-urlencoded"

    /// Returns the text of a field; for the media type of nearly all requests without a copy.
    static func text(_ field: Span<UInt8>) -> String {
        field.equals(Self.json.rawValue.utf8.span) ? Self.json.rawValue : String(copying: field)
    }

    package func accepts(_ contentType: String?) -> Bool {
        guard let contentType, contentType != rawValue else { return contentType != nil }
        // Types, names and charsets ignore case.
        let parts = contentType.lowercased().split(separator: ";", omittingEmptySubsequences: false)
            .map { $0.trimmed }
        guard parts[0] == rawValue else { return false }
        return parts.dropFirst().allSatisfy { parameter in
            !parameter.hasPrefix("charset=") || ["charset=utf-8", "charset=\"utf-8\""].contains(parameter)
        }
    }
}

extension Substring {
    /// The text without the white space around it (RFC 9110 §5.5).
    fileprivate var trimmed: String {
        let text = utf8.span
        return String(copying: text.extracting(text.trimmed(0..<text.count)))
    }
}
