// SPDX-License-Identifier: Apache-2.0

internal import Clients
internal import HTTPTypes
internal import JSON
internal import Receipts

/// The header of a request: its bytes, copied once, and what the edge needs of them. All else is read from the bytes on
/// demand. Ambiguous fields become nil.
package struct RequestHeader: Sendable {
    enum Version: Sendable {
        case http1_0
        case http1_1

        /// False in HTTP/1.0, where the end of the connection ends a stream (RFC 9112 §6.1).
        var hasChunks: Bool { self != .http1_0 }
    }

    /// The request line and the fields with their line ends, as sent.
    private let bytes: [UInt8]
    private let fields: HeaderFields
    private let target: RequestTarget
    let method: HTTPRequest.Method
    let version: Version
    let requestID: RequestID
    /// True if the client waits for `100 Continue` before it sends the body; nil for an unknown expectation.
    let expectsContinue: Bool?

    /// - Parameter bytes: the request line and the fields, without the empty line.
    /// - Throws: the reason to refuse the request. The parser has already refused a body without one clear length.
    init(
        copying bytes: Span<UInt8>, _ line: RequestLine, _ fields: HeaderFields, _ length: BodyFraming.Length
    ) throws(EdgeRefusal) {
        guard let target = RequestTarget(line.target, line.method, in: bytes) else { throw .malformed }
        try Self.check(fields.host, in: bytes, line.version)
        self.bytes = bytes.copy(0..<bytes.count)
        self.fields = fields
        self.target = target
        (method, version) = (line.method, line.version)
        let sent = fields.requestID.only
        requestID = RequestID(sent: sent.map { String(copying: bytes.extracting($0)) })
        // RFC 9110 §10.1.1: HTTP/1.0 knows no 100 Continue, and a client that sends no body does not wait for it.
        let mayWait = line.version != .http1_0 && length != .bytes(0)
        expectsContinue = fields.expectsContinue.map { $0 && mayWait }
    }

    /// RFC 9112 §3.2: exactly one `Host` in HTTP/1.1, never more, and nothing in it but a host and a port.
    private static func check(
        _ host: SingleValue, in bytes: Span<UInt8>, _ version: Version
    ) throws(EdgeRefusal) {
        switch host {
        case .none where version == .http1_0: return
        case .one(let host): guard RequestAuthority(bytes.extracting(host)) == nil else { return }
        case .none, .several: break
        }
        throw .malformed
    }

    package var isHead: Bool { method == .head }

    /// True for the last request of its connection: HTTP/1.0 without keep-alive, and all spellings of close.
    var isLast: Bool { fields.isLast(in: version) }

    /// True if the body is said to be compressed, or encoded in any other way (RFC 9110 §8.4).
    var hasContentCoding: Bool { fields.hasContentCoding }

    /// The length the client announced; nil for chunked bodies and for none.
    var announcedBytes: Int? { fields.framing.announcedBytes }

    /// True for a request with `Prefer` or `Idempotency-Key`, which may be answered later.
    package var hasDeferralFields: Bool { fields.hasDeferralFields }

    /// True for a request whose `Accept` names `application/jose`, and not `application/json`: clients that are generated
    /// from a description name every type in it. Evaluated only where answers are signed.
    package var acceptsJOSE: Bool {
        switch fields.accept {
        case .none: return false
        case .one(let list): return bytes.span.extracting(list).acceptsJOSE
        case .several:
            let list = list(of: "accept") ?? ""
            return list.utf8.span.acceptsJOSE
        }
    }

    /// The path as sent, without scheme, authority and query. Nothing is decoded.
    var path: Span<UInt8> {
        @_lifetime(borrow self) get { bytes.span.extracting(target.path) }
    }

    /// The query without its question mark; nil without a query. It may hold a key, so it never reaches a log.
    package var query: String? { target.query.map { text($0) } }

    /// Nil in HTTP/1.0 without `Host`.
    var authority: RequestAuthority? {
        // RFC 9112 §3.2.2: the host of a whole URL goes before the field.
        @_lifetime(borrow self) get {
            if let authority = target.authority { return RequestAuthority(bytes.span.extracting(authority)) }
            guard let host = fields.host.only else { return nil }
            return RequestAuthority(bytes.span.extracting(host))
        }
    }

    /// The field `Content-Type`; nil for none or several.
    package var contentType: String? {
        fields.contentType.only.map { RequestMediaType.text(bytes.span.extracting($0)) }
    }

    /// The field `traceparent`; nil for none or several.
    var traceparent: String? { fields.traceparent.only.map { text($0) } }

    /// True if a browser sent the request for a page, whose site it names in `Origin` (RFC 6454 §7).
    package var hasOrigin: Bool { fields.origin != .none }

    /// The field `Origin`; nil for none or several.
    var origin: String? { fields.origin.only.map { text($0) } }

    /// Returns true if the page is of another site than the gateway's own. `null` counts as another site, and so do
    /// several fields, which no browser sends.
    /// - Parameter hasTLS: true if the gateway's own pages are `https`.
    func hasForeignOrigin(hasTLS: Bool) -> Bool {
        switch fields.origin {
        case .none: return false
        case .several: return true
        case .one(let origin):
            guard let authority else { return true }
            let own = (hasTLS ? "https://" : "http://") + String(copying: authority.text).lowercased()
            return text(origin).lowercased() != own
        }
    }

    /// The credentials. Several values of one field are one list (RFC 9110 §5.3), which is not a valid key.
    var credentials: Credentials {
        guard fields.hasCredentials else { return Credentials() }
        return Credentials(authorization: list(of: "authorization"), apiKey: list(of: "x-api-key"))
    }

    /// The credentials of a request by a plugin, which may have the key in its query.
    var pluginCredentials: Credentials {
        var credentials = credentials
        credentials.queryKey = queryKey
        return credentials
    }

    /// The value of `apiKey` in the query; nil for none or several.
    private var queryKey: String? {
        let items = (query ?? "").utf8.split(separator: UInt8(ascii: "&")).filter { $0.starts(with: "apiKey=".utf8) }
        guard items.count == 1 else { return nil }
        let sent = Array(items[0].dropFirst("apiKey=".utf8.count))
        return sent.span.percentDecoded().flatMap { String(outside: $0) }
    }

    private func text(_ place: Range<Int>) -> String { String(copying: bytes.span.extracting(place)) }

    private func list(of name: String) -> String? {
        let values = values(of: name)
        return values.isEmpty ? nil : values.joined(separator: ", ")
    }

    /// All fields in order.
    var lines: [FieldLine] {
        let bytes = bytes.span
        var lines: [FieldLine] = []
        var start = 0
        while let end = bytes.firstIndex(of: UInt8(ascii: "\n"), from: start) {
            // The parser has read the fields once, and the request line is no field.
            if start > 0, let line = try? FieldLine(start..<end - 1, in: bytes) { lines.append(line) }
            start = end + 1
        }
        return lines
    }

    func name(of line: FieldLine) -> String { text(line.name) }

    func value(of line: FieldLine) -> String { text(line.value) }

    private func lines(of name: String) -> [FieldLine] {
        let name = name.lowercased()
        return lines.filter { bytes.span.extracting($0.name).equalsIgnoringCase(name) }
    }

    /// Returns the values of all fields with a name, which is compared without case (RFC 9110 §5.1).
    package func values(of name: String) -> [String] { lines(of: name).map { value(of: $0) } }

    /// Returns the elements of all fields with a name, split at every comma, the last element first, with `?` for each
    /// byte beyond ASCII.
    func lastElements(of name: String, maximumCount: Int) -> [String] {
        var elements: [String] = []
        for line in lines(of: name).reversed() {
            let value = bytes.span.extracting(line.value)
            var end = value.count
            while end >= 0, elements.count < maximumCount {
                let comma = (0..<end).last { value[$0] == UInt8(ascii: ",") } ?? -1
                // A proxy may have copied the client's text beside the address that it saw.
                let visible = (comma + 1..<end).map { value[$0] < 0x80 ? value[$0] : UInt8(ascii: "?") }
                elements.append(String(decoding: visible, as: UTF8.self))
                end = comma
            }
        }
        return elements
    }
}

extension String {
    /// Copies a part of a header, the only way from its bytes to text.
    ///
    /// RFC 9110 §5.5 limits the values of fields to ASCII. A value with other bytes becomes U+FFFD, which no grammar has:
    /// Swift would compare and split it as Unicode, in time with the square of its length.
    init(copying bytes: Span<UInt8>) {
        guard var text = try? UTF8Span(validating: bytes), text.checkForASCII() else {
            self = "\u{FFFD}"
            return
        }
        self.init(copying: text)
    }
}

/// The target of a request (RFC 9112 §3.2): a path, a whole URL, or the asterisk of OPTIONS.
private struct RequestTarget {
    let path: Range<Int>
    /// The part after the first question mark (RFC 3986 §3.4); nil without a question mark.
    let query: Range<Int>?
    let authority: Range<Int>?

    /// - Returns: nil for anything else. CONNECT, which has a form of its own, has already been refused.
    init?(_ target: Range<Int>, _ method: HTTPRequest.Method, in bytes: Span<UInt8>) {
        var path = target
        let text = bytes.extracting(target)
        if text[0] == UInt8(ascii: "/") || text.begins(with: "*") && text.count == 1 && method == .options {
            authority = nil
        } else {
            guard let start = Self.authorityStart(text) else { return nil }
            var end = start
            while end < text.count, text[end] != UInt8(ascii: "/"), text[end] != UInt8(ascii: "?") { end += 1 }
            // RFC 9110 §4.2.1: an http URL has a host; §4.2.4: and no user.
            guard end > start, RequestAuthority(text.extracting(start..<end)) != nil else { return nil }
            authority = target.lowerBound + start..<target.lowerBound + end
            path = target.lowerBound + end..<target.upperBound
        }
        let mark = bytes.extracting(path).firstIndex(of: UInt8(ascii: "?"), from: 0)
        query = mark.map { path.lowerBound + $0 + 1..<path.upperBound }
        path = path.lowerBound..<(mark.map { path.lowerBound + $0 } ?? path.upperBound)
        if path.isEmpty, let authority {
            // A URL without a path has the path "/", such as the slash before its authority.
            path = authority.lowerBound - 1..<authority.lowerBound
        }
        self.path = path
    }

    /// Returns the index after `http://` or `https://`; nil for a target that begins otherwise.
    private static func authorityStart(_ text: Span<UInt8>) -> Int? {
        guard let end = text.firstIndex(of: UInt8(ascii: ":"), from: 0) else { return nil }
        let scheme = text.extracting(0..<end)
        guard scheme.equalsIgnoringCase("http") || scheme.equalsIgnoringCase("https") else { return nil }
        return text.extracting(end...).begins(with: "://") ? end + 3 : nil
    }
}

/// The place of the value of a field that should occur once.
package enum SingleValue: Hashable, Sendable {
    case none
    case one(Range<Int>)
    case several

    package var only: Range<Int>? {
        if case .one(let value) = self { value } else { nil }
    }

    package mutating func add(_ value: Range<Int>) {
        self = if case .none = self { .one(value) } else { .several }
    }
}

/// The `Content-Type` of requests (RFC 9110 §8.3). Parameters are allowed, `charset` only as `utf-8`.
package enum RequestMediaType: String {
    case json = "application/json"
    case form = "application/x-www-form-urlencoded"
    case png = "image/png"

    /// Returns the text of a field; for the media type of nearly all requests without a copy.
    static func text(_ field: Span<UInt8>) -> String {
        field.equals(Self.json.rawValue.utf8.span) ? Self.json.rawValue : String(copying: field)
    }

    package func accepts(_ contentType: String?) -> Bool {
        guard let contentType, contentType != rawValue else { return contentType != nil }
        // Types, names and charsets ignore case.
        let parts = contentType.lowercased().split(separator: ";", omittingEmptySubsequences: false)
            .map { $0.trimmingWhiteSpace() }
        guard parts[0] == rawValue else { return false }
        return parts.dropFirst().allSatisfy { parameter in
            !parameter.hasPrefix("charset=") || ["charset=utf-8", "charset=\"utf-8\""].contains(parameter)
        }
    }
}
