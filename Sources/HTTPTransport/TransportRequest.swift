// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// One request to an upstream, checked by `HTTPTransport.send`.
public struct TransportRequest: Sendable {
    /// The method (RFC 9110 §9).
    public enum Method: String, Sendable, Hashable, CaseIterable {
        /// Fetch a resource; without a body.
        case get = "GET"
        case post = "POST"
        case put = "PUT"
    }

    /// The method.
    public var method: Method
    /// The URL: absolute, `https`, printable ASCII, without a user name.
    public var url: String
    /// The fields in order. Those that frame the message (`Content-Length`, `Connection`, ...) are rejected.
    public var headers: [TransportHeader]
    /// The body, sent as it is with its length.
    public var body: [UInt8]

    /// Creates a request without checks.
    public init(_ method: Method, url: String, headers: [TransportHeader] = [], body: [UInt8] = []) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
    }
}

/// A header field (RFC 9110 §5).
public struct TransportHeader: Sendable, Hashable {
    /// The name, compared without regard to case.
    public var name: String
    /// The value without whitespace around it.
    public var value: String

    /// Creates a field without checks.
    public init(name: String, value: String) {
        self.name = name
        self.value = value
    }
}

// Requests and answers carry receipts, shared secrets and tokens. Their descriptions, for logs and failed expectations,
// have no byte of them.

extension TransportRequest: CustomStringConvertible, CustomReflectable {
    /// The method and the sizes.
    public var description: String { "\(method.rawValue) with \(headers.count) fields and \(body.count) bytes" }
    /// Empty, for the same reason.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension TransportHeader: CustomStringConvertible, CustomReflectable {
    /// The name, without the value.
    public var description: String { "\(name): ..." }
    /// Empty, for the same reason.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
