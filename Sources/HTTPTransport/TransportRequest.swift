// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// One request to an upstream, as the caller wants it. What is wrong with it, `HTTPTransport.send` says.
public struct TransportRequest: Sendable {
    /// What the upstream is asked to do (RFC 9110 §9).
    public enum Method: String, Sendable, Hashable, CaseIterable {
        /// Fetch; a body is not sent.
        case get = "GET"
        /// Submit the body.
        case post = "POST"
        /// Put the body in the place of what is there.
        case put = "PUT"
    }

    /// What is asked.
    public var method: Method
    /// Absolute, `https`, printable ASCII, without a user name.
    public var url: String
    /// Fields in the order they are sent. Those that frame the message (`Content-Length`, `Connection`, ...) are refused.
    public var headers: [TransportHeader]
    /// Sent as it is, with its length announced.
    public var body: [UInt8]

    /// A request; nothing is checked yet.
    public init(_ method: Method, url: String, headers: [TransportHeader] = [], body: [UInt8] = []) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
    }
}

/// A header field (RFC 9110 §5).
public struct TransportHeader: Sendable, Hashable {
    /// As it was written; compared without regard to case.
    public var name: String
    /// Without whitespace around it.
    public var value: String

    /// A field; nothing is checked yet.
    public init(name: String, value: String) {
        self.name = name
        self.value = value
    }
}
