// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// One request to an upstream, checked by `HTTPTransport.send`.
package struct TransportRequest: Sendable {
    package enum Method: String, Sendable, Hashable, CaseIterable {
        /// Without a body.
        case get = "GET"
        case post = "POST"
    }

    package let method: Method
    /// The URL: absolute, `https`, printable ASCII, without a user name.
    package let url: String
    /// The fields in order. Those that frame the message (`Content-Length`, `Connection`, ...) are rejected.
    package var headers: [TransportHeader]
    package let body: [UInt8]

    package init(_ method: Method, url: String, headers: [TransportHeader] = [], body: [UInt8] = []) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
    }
}

/// The complete final answer to a request; redirects are not followed.
package struct TransportResponse: Sendable {
    /// The status, 200 or above: interim answers (RFC 9110 §15.2) are skipped.
    package let status: Int
    /// The fields before the body in order of arrival, without those of interim answers and trailers.
    package let headers: [TransportHeader]
    /// The body as sent, not decompressed; at most `TransportConfiguration.maximumResponseBytes`.
    package let body: [UInt8]
    package let httpVersion: HTTPVersion
    /// True if the connection had served an earlier request.
    package let connectionWasReused: Bool
    /// The time from the request's start to the last byte of the answer.
    package let took: Duration

    /// The protocols a connection may agree on (ALPN, RFC 7301).
    package enum HTTPVersion: String, Sendable, Hashable {
        case http1_0 = "HTTP/1.0"
        case http1_1 = "HTTP/1.1"
        case http2 = "HTTP/2"
    }
}

/// A header field (RFC 9110 §5).
package struct TransportHeader: Sendable, Hashable {
    package let name: String
    /// The value without whitespace around it.
    package let value: String

    package init(name: String, value: String) {
        self.name = name
        self.value = value
    }
}

extension [TransportHeader] {
    /// Returns the values of all fields of this name, in order; names ignore case (RFC 9110 §5.1).
    package func values(of name: String) -> [String] {
        filter { $0.name.utf8.isSameText(as: name.utf8) }.map(\.value)
    }
}

// Requests and answers carry receipts, shared secrets and tokens. Their descriptions, for logs and failed expectations,
// have no byte of them.

extension TransportRequest: CustomStringConvertible, CustomReflectable {
    package var description: String { "\(method.rawValue) with \(headers.count) fields and \(body.count) bytes" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

extension TransportHeader: CustomStringConvertible, CustomReflectable {
    package var description: String { "\(name): ..." }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

extension TransportResponse: CustomStringConvertible, CustomReflectable {
    package var description: String {
        "\(httpVersion.rawValue) \(status) with \(headers.count) fields and \(body.count) bytes"
    }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
