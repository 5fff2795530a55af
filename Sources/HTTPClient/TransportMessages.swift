// SPDX-License-Identifier: Apache-2.0

// Requests and answers carry receipts, shared secrets and tokens. Their descriptions, for logs and failed expectations,
// have no byte of them.

/// One request to an upstream, checked by `HTTPTransport.send`.
package struct TransportRequest: Sendable, CustomStringConvertible, CustomReflectable {
    package enum Method: String, Sendable, Hashable, CaseIterable {
        /// Without a body.
        case get = "GET"
        case post = "POST"
        case put = "PUT"
        case delete = "DELETE"
    }

    package let method: Method
    /// The URL: absolute, `https`, printable ASCII, without a user name.
    package let url: String
    /// The fields in order. Fields that frame the message (`Content-Length`, `Connection`, ...) are rejected.
    package var headers: [TransportHeader]
    package let body: [UInt8]
    /// False for a request that must not reach the upstream twice. It gets a new connection: on a kept connection that
    /// the upstream closes without an answer, libcurl would send the request again.
    package var isRepeatable = true

    package init(_ method: Method, url: String, headers: [TransportHeader] = [], body: [UInt8] = []) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
    }

    package var description: String { "\(method.rawValue) with \(headers.count) fields and \(body.count) bytes" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// The complete final answer to a request; redirects are not followed.
package struct TransportResponse: Sendable, CustomStringConvertible, CustomReflectable {
    /// The status, 200 or above: interim answers (RFC 9110 §15.2) are skipped.
    package let status: Int
    /// The fields before the body in order of arrival, without the fields of interim answers and trailers.
    package let headers: [TransportHeader]
    /// The body as sent, not decompressed; at most `TransportConfiguration.maximumResponseBytes`.
    package let body: [UInt8]
    package let httpVersion: HTTPVersion
    package let connectionWasReused: Bool
    /// The time from the request's start to the last byte of the answer.
    package let took: Duration
    /// The wait that `Retry-After` requests, in seconds or as a date (RFC 9110 §10.2.3); nil without a valid value that
    /// is ahead of now.
    package var retryAfter: Duration?

    /// The protocols a connection may agree on (ALPN, RFC 7301).
    package enum HTTPVersion: String, Sendable, Hashable {
        case http1_0 = "HTTP/1.0"
        case http1_1 = "HTTP/1.1"
        case http2 = "HTTP/2"
    }

    package var description: String {
        "\(httpVersion.rawValue) \(status) with \(headers.count) fields and \(body.count) bytes"
    }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// A header field (RFC 9110 §5).
package struct TransportHeader: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
    package let name: String
    /// The value without whitespace around it.
    package let value: String

    package init(name: String, value: String) {
        self.name = name
        self.value = value
    }

    package var description: String { "\(name): ..." }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

extension [TransportHeader] {
    /// Returns the values of all fields of this name, in order; names ignore case (RFC 9110 §5.1).
    package func values(of name: String) -> [String] {
        filter { $0.name.utf8.isSameText(as: name.utf8) }.map(\.value)
    }
}

extension UInt8 {
    fileprivate var lowercased: UInt8 { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self) ? self | 0x20 : self }

    /// `OWS`: a space or a tab (RFC 9110 §5.6.3).
    var isWhitespace: Bool { self == UInt8(ascii: " ") || self == UInt8(ascii: "\t") }

    /// `VCHAR`: a visible character (RFC 5234 appendix B.1).
    var isVisible: Bool { (0x21...0x7E).contains(self) }

    /// `tchar = any VCHAR, except delimiters` (RFC 9110 §5.6.2).
    package var isTokenCharacter: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"):
            true
        default: isVisible && !#"(),/:;<=>?@[\]{}""#.utf8.contains(self)
        }
    }

    /// `field-vchar`, space or tab: `VCHAR / obs-text / SP / HTAB` (RFC 9110 §5.5).
    var isFieldCharacter: Bool { self == 0x09 || (0x20...0x7E).contains(self) || self >= 0x80 }
}

extension StringProtocol where SubSequence == Substring {
    /// The text without optional white space (`OWS`) around it.
    package var trimmingWhiteSpace: Substring {
        let start = self[...].utf8.drop(while: \.isWhitespace)
        guard let last = start.lastIndex(where: { !$0.isWhitespace }) else { return "" }
        return Substring(start[...last])
    }
}

extension Collection<UInt8> {
    /// Compares two texts, ASCII letters without regard to case.
    func isSameText(as other: some Collection<UInt8>) -> Bool {
        count == other.count && elementsEqual(other) { $0.lowercased == $1.lowercased }
    }
}

/// The reason why a request has no answer: one case for each action of an operator. No case carries text, so no part of
/// a URL, header or body can get into a log.
package enum TransportError: Error, Hashable, Sendable {
    /// The progress of a request at its timeout.
    package enum Phase: String, Sendable, Hashable, CaseIterable {
        /// No connection was ready; nothing was sent.
        case connecting
        /// The request was sent, at least in part.
        case answering
    }

    // MARK: Faults of the caller

    /// The URL is not absolute, has invalid bytes, names a user, or is too long.
    case invalidURL
    case insecureURL
    /// A field has an invalid name or value, or only the transport may set it.
    case invalidHeader
    case tooManyRequests

    // MARK: Faults of the network

    /// The proxy is unreachable, or refused the request.
    case proxy
    case resolve
    /// All addresses of the host are forbidden by the configuration: loopback, private, link-local, ...
    case forbiddenAddress
    case connect
    /// No TLS session: no common version or cipher, or no TLS at all.
    case tlsHandshake
    /// The upstream's certificate is not trusted, not for this host, or not valid now.
    case tlsVerification
    case trustStore
    case timeout(Phase)

    // MARK: Faults of the upstream

    case reset
    case tooLarge
    case protocolViolation

    // MARK: Local reasons

    case cancelled
    case shuttingDown
    /// Another libcurl error: its number (CURLcode), or 0 if the system refused a thread or memory.
    case `internal`(code: Int32)
}

extension TransportError: CustomStringConvertible {
    /// The fault in words, for log lines and the outputs of commands.
    package var description: String {
        switch self {
        case .invalidURL: "the URL is not valid"
        case .insecureURL: "the URL is not https"
        case .invalidHeader: "a header field of the request is not valid"
        case .tooManyRequests: "too many requests are in flight"
        case .proxy: "the proxy is unreachable or refused the request"
        case .resolve: "the host name has no address"
        case .forbiddenAddress: "the host name has forbidden addresses only"
        case .connect: "the connection was refused or has no route"
        case .tlsHandshake: "the TLS handshake failed"
        case .tlsVerification: "the certificate is not trusted, not for this host, or not valid now"
        case .trustStore: "the trusted certificates cannot be read"
        case .timeout(.connecting): "connecting took too long"
        case .timeout(.answering): "the answer took too long"
        case .reset: "the connection ended before the answer"
        case .tooLarge: "the answer is too large"
        case .protocolViolation: "the answer is not valid HTTP"
        case .cancelled: "the request was cancelled"
        case .shuttingDown: "the gateway is stopping"
        case .internal(let code): "libcurl failed with error \(code)"
        }
    }
}
