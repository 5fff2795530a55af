// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import NIOHTTP1
internal import NIOHTTPTypesHTTP1

/// The header of a request, and what the edge wants to know of it, found in one pass. What can be read in two ways
/// becomes none.
///
/// A class, because a header is handed on many times and never changes.
final class RequestHeader: Sendable {
    /// The header as it was sent.
    private let head: HTTPRequestHead
    /// What is to be done.
    let method: HTTPRequest.Method
    /// The path and the query, without the scheme and authority that may stand before them.
    let path: String
    /// Joins the log lines and the answer of this request.
    let requestID: RequestID
    /// Who sends it; nil for a stranger.
    let client: Client?
    /// The field `Content-Type`; nil for none and for several.
    let contentType: String?
    /// The field `traceparent`; nil for none and for several.
    let traceparent: String?
    /// The length the client announced; nil for chunked bodies and for none.
    let announcedBytes: Int?
    /// Whether the client waits for `100 Continue` before it sends the body; nil if it expects something unknown.
    let expectsContinue: Bool?
    /// Whether this is the last request of its connection: for HTTP/1.0 without keep-alive, and all the spellings of close
    /// (RFC 9112 §9.3). After a request to upgrade the decoder reads no further.
    let isLast: Bool

    /// - Parameter identify: tells whose credentials these are.
    /// - Throws: why the request is refused, whatever it asks for. The decoder has refused a `Content-Length` that is no
    ///   number or stands twice, and one beside `Transfer-Encoding`.
    init(_ head: HTTPRequestHead, identify: (Credentials) -> Client?) throws(EdgeRefusal) {
        guard let method = try? HTTPRequest.Method(head.method) else { throw .malformed }
        let fields = EdgeFields(head.headers)
        guard fields.hasOneHost(in: head.version), let path = head.path else { throw .malformed }
        guard fields.hasKnownTransferCoding(in: head.version) else { throw .transferCoding }
        (self.head, self.method, self.path) = (head, method, path)
        requestID = RequestID(sent: fields.requestID)
        client = identify(fields.credentials)
        contentType = fields.contentType.only
        traceparent = fields.traceparent.only
        announcedBytes = fields.announcedBytes
        expectsContinue = fields.expectsContinue
        isLast = !head.isKeepAlive || fields.wantsUpgrade || method == .connect
    }

    /// All fields but `Host`.
    var fields: HTTPFields { HTTPFields(head.headers, splitCookie: false) }

    /// The header for the router, which has the identifier in it, and one spelling of close.
    func forRouter() throws -> HTTPRequest {
        var request = try HTTPRequest(head, secure: false, splitCookie: false)
        request.headerFields[.requestID] = requestID.text
        if isLast { request.headerFields[.connection] = "close" }
        return request
    }
}

extension HTTPRequestHead {
    /// RFC 9112 §3.2.1 to §3.2.4: a path, a whole URL, the asterisk of OPTIONS, or the authority of CONNECT; nil for
    /// anything else.
    fileprivate var path: String? {
        if uri.utf8.first == UInt8(ascii: "/") { return uri }
        let schemeEnd = uri.utf8.firstIndex(of: UInt8(ascii: ":")) ?? uri.startIndex
        switch method {
        case .CONNECT: break
        case .OPTIONS where uri == "*": break
        default:
            guard ["http", "https"].contains(uri[..<schemeEnd].lowercased()), uri[schemeEnd...].hasPrefix("://")
            else { return nil }
        }
        return try? HTTPRequest(self, secure: false, splitCookie: false).path
    }
}

// MARK: - Fields

/// The fields of a header that the edge looks at.
private struct EdgeFields {
    private(set) var credentials = Credentials()
    private(set) var contentType = SingleValue()
    private(set) var traceparent = SingleValue()
    private(set) var announcedBytes: Int?
    private(set) var expectsContinue: Bool? = false
    private(set) var wantsUpgrade = false
    /// Empty, and so not harmless, if there are several.
    private(set) var requestID: String?
    private var hosts = SingleValue()
    private var transferCodings = SingleValue()

    init(_ headers: HTTPHeaders) {
        for (name, value) in headers { add(FieldName(text: name), value) }
    }

    private mutating func add(_ name: FieldName, _ value: String) {
        switch name {
        case "host": hosts.add(value)
        case "content-type": contentType.add(value.trimmed)
        // The decoder lets no header pass with two of them.
        case "content-length": announcedBytes = Int(value.trimmed)
        case "authorization": credentials.add(authorization: value.trimmed)
        case "x-api-key": credentials.add(apiKey: value.trimmed)
        case "x-request-id": requestID = requestID == nil ? value.trimmed : ""
        // Two of them are one list, and no such list is known.
        case "expect": expectsContinue = expectsContinue == false && value.trimmed.isContinue ? true : nil
        case "transfer-encoding": transferCodings.add(value)
        case "traceparent": traceparent.add(value.trimmed)
        case "upgrade": wantsUpgrade = true
        default: break
        }
    }

    /// RFC 9112 §3.2: exactly one `Host` in HTTP/1.1, never more, and nothing in it but a host and a port.
    func hasOneHost(in version: HTTPVersion) -> Bool {
        switch hosts {
        case .none: version == .http1_0
        case .one(let host): host.utf8.allSatisfy(\.isPartOfHost)
        case .several: false
        }
    }

    /// RFC 9112 §6.1: chunked is the only coding that is read here, and HTTP/1.0 knows none.
    func hasKnownTransferCoding(in version: HTTPVersion) -> Bool {
        switch transferCodings {
        case .none: true
        case .one(let coding): version != .http1_0 && coding.lowercased() == "chunked"
        case .several: false
        }
    }
}

/// What a field says that should stand once.
private enum SingleValue {
    case none
    case one(String)
    case several

    init() { self = .none }

    var only: String? {
        if case .one(let value) = self { value } else { nil }
    }

    mutating func add(_ value: String) {
        if case .none = self { self = .one(value) } else { self = .several }
    }
}

/// The name of a field, which is the same in upper and in lower case (RFC 9110 §5.1).
private struct FieldName {
    let text: String

    /// - Parameter pattern: in lower case.
    static func ~= (pattern: String, name: FieldName) -> Bool {
        guard pattern.utf8.count == name.text.utf8.count else { return false }
        let expected = pattern.utf8.span, sent = name.text.utf8.span
        for index in sent.indices where sent[index].lowercased != expected[index] { return false }
        return true
    }
}

extension UInt8 {
    fileprivate var isWhiteSpace: Bool { self == UInt8(ascii: " ") || self == UInt8(ascii: "\t") }

    fileprivate var lowercased: UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self) ? self | 0x20 : self
    }

    /// `uri-host [ ":" port ]` (RFC 3986 §3.2.2): unreserved and sub-delims, percent, brackets and colons. The comma is
    /// left out, because a list of hosts is no host.
    fileprivate var isPartOfHost: Bool {
        switch self {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: ":"), UInt8(ascii: "-"):
            true
        default: "_~%[]!$&'()*+;=".utf8.contains(self)
        }
    }
}

extension String {
    /// Without the white space around a value (RFC 9110 §5.5), of which the decoder leaves what stands behind it.
    fileprivate var trimmed: String {
        guard let first = utf8.first, let last = utf8.last, first.isWhiteSpace || last.isWhiteSpace else { return self }
        var value = utf8[...]
        while value.first?.isWhiteSpace == true { value.removeFirst() }
        while value.last?.isWhiteSpace == true { value.removeLast() }
        return String(Substring(value))
    }

    fileprivate var isContinue: Bool { lowercased() == "100-continue" }
}
