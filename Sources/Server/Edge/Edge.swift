// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import HummingbirdCore
internal import NIOCore
internal import NIOHTTP1
internal import NIOHTTPTypesHTTP1

/// What all connections of one listener share.
struct Edge: Sendable {
    /// What is enforced on each connection.
    let rules: EdgeRules
    /// The memory for request bodies.
    let budget: BodyBudget
    /// Tells when the server stops.
    let lifecycle: ServerLifecycle
    /// Where refused requests are logged.
    let log: RequestLog
    /// Where requests and connections are counted; nil for the admin plane.
    var metrics: EdgeMetrics?
    /// Answers requests before they reach the router; nil leaves all of them to it.
    var lane: FastLane?
}

extension Edge {
    /// An HTTP/1.1 server with this edge in front of its router.
    func server(limits: HTTPLimits) -> HTTPServerBuilder {
        let decoder = HTTP1Channel.Configuration.DecoderConfiguration(
            maxHeaderFieldSize: limits.headerField.bytes, maxHeaderListSize: limits.headerList.bytes,
            maxHeaderFieldCount: limits.headerFieldCount)
        return .http1(
            configuration: HTTP1Channel.Configuration(
                additionalChannelHandlers: [RequestHeadHandler.Installer(), EdgeHandler(self)],
                httpDecoderConfiguration: decoder))
    }
}

extension EdgeRefusal {
    /// The refusal for what the decoder could not read; nil for errors of the socket.
    init?(decoding error: any Error) {
        switch error {
        case let refusal as EdgeRefusal: self = refusal
        case HTTPParserError.headerOverflow: self = .headerTooLarge
        case is HTTPParserError, is HTTP1TypeConversionError: self = .malformed
        default: return nil
        }
    }
}
