// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The complete final answer to a request; redirects are not followed.
public struct TransportResponse: Sendable {
    /// The status, 200 or above: interim answers (RFC 9110 §15.2) are skipped.
    public let status: Int
    /// The fields before the body in order of arrival, without those of interim answers and trailers.
    public let headers: [TransportHeader]
    /// The body as sent, not decompressed; at most `TransportConfiguration.maximumResponseBytes`.
    public let body: [UInt8]
    /// The protocol of the connection.
    public let httpVersion: HTTPVersion
    /// True if the connection had served an earlier request.
    public let connectionWasReused: Bool
    /// The durations of the request's phases.
    public let timings: TransportTimings

    /// The protocols a connection may agree on (ALPN, RFC 7301).
    public enum HTTPVersion: String, Sendable, Hashable, CaseIterable {
        /// RFC 1945.
        case http1_0 = "HTTP/1.0"
        /// RFC 9112.
        case http1_1 = "HTTP/1.1"
        /// RFC 9113.
        case http2 = "HTTP/2"
    }
}

/// The durations of a request's phases, each from its start.
public struct TransportTimings: Sendable, Hashable {
    /// The time until a connection was ready: name resolution, TCP, TLS, or a free connection.
    public let connected: Duration
    /// The time until the first byte of the answer.
    public let firstByte: Duration
    /// The time until the last byte of the answer.
    public let total: Duration
}

extension TransportResponse: CustomStringConvertible, CustomReflectable {
    /// The protocol, the status and the sizes.
    public var description: String {
        "\(httpVersion.rawValue) \(status) with \(headers.count) fields and \(body.count) bytes"
    }
    /// Empty: the answer may hold secrets.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension [TransportHeader] {
    /// Returns the values of all fields of this name, in order; names ignore case (RFC 9110 §5.1).
    public func values(of name: String) -> [String] {
        filter { $0.name.utf8.isSameText(as: name.utf8) }.map(\.value)
    }
}
