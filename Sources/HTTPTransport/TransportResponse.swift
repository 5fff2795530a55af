// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The final answer to a request, complete; redirects are answers like others and not followed.
public struct TransportResponse: Sendable {
    /// Three digits, 200 or above: interim answers (RFC 9110 §15.2) are skipped.
    public let status: Int
    /// The fields before the body, without those of interim answers and without trailers.
    public let headers: TransportHeaders
    /// At most `TransportConfiguration.maximumResponseBytes`; as sent, never decompressed.
    public let body: [UInt8]
    /// What the connection spoke.
    public let httpVersion: HTTPVersion
    /// Whether a connection of an earlier request served this one.
    public let connectionWasReused: Bool
    /// How long it took.
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

/// Where the time of a request went; each is measured from its start.
public struct TransportTimings: Sendable, Hashable {
    /// Until a connection was ready: name, TCP, TLS, or waiting for a free one.
    public let connected: Duration
    /// Until the first byte of the answer.
    public let firstByte: Duration
    /// Until the last byte of the answer.
    public let total: Duration
}

/// Header fields in the order they arrived, duplicates kept.
public struct TransportHeaders: Sendable, Hashable {
    /// All fields.
    public let fields: [TransportHeader]

    /// These fields.
    public init(_ fields: [TransportHeader] = []) {
        self.fields = fields
    }

    /// The values of all fields of this name, in order; names are compared without regard to case (RFC 9110 §5.1).
    public func values(of name: String) -> [String] {
        fields.filter { $0.name.utf8.isSameText(as: name.utf8) }.map(\.value)
    }
}
