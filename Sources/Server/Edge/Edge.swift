// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import HummingbirdCore
internal import Logging
internal import NIOCore
internal import NIOHTTP1
internal import NIOHTTPTypes

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
    /// The limits for one address on this listener; nil for none.
    var sources: SourceLimits?
    /// The time that answers of the edge carry.
    let date = DateField()
}

extension Edge {
    /// An HTTP/1.1 server with this edge in front of its router.
    func server(limits: HTTPLimits) -> HTTPServerBuilder {
        HTTPServerBuilder { responder in
            EdgeChannel(edge: self, limits: RequestParser.Limits(limits), responder: responder)
        }
    }
}

/// A connection: the decoder, the edge, and behind it Hummingbird's loop over the requests for its router. The
/// edge sees requests as they were sent; only what the router answers is turned into Hummingbird's types.
private struct EdgeChannel: ServerChildChannel, HTTPChannelHandler {
    let edge: Edge
    let limits: RequestParser.Limits
    let responder: HTTPChannelHandler.Responder

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<EdgeChannelValue> {
        channel.eventLoop.makeCompletedFuture {
            let pipeline = channel.pipeline.syncOperations
            let decoder = RequestDecoder(limits)
            let routed = RoutedReservation()
            try pipeline.addHandlers(
                HTTPResponseEncoder(), ByteToMessageHandler(decoder),
                EdgeHandler(edge, reading: decoder, routed: routed))
            let parts = try NIOAsyncChannel<HTTPRequestPart, HTTPResponsePart>(
                wrappingChannelSynchronously: channel, configuration: .init(isOutboundHalfClosureEnabled: true))
            return EdgeChannelValue(parts: parts, routed: routed)
        }
    }

    func handle(value: EdgeChannelValue, logger: Logger) async {
        await RoutedReservation.$current.withValue(value.routed) {
            await handleHTTP(asyncChannel: value.parts, logger: logger)
        }
    }
}

/// A connection as its task sees it.
private struct EdgeChannelValue: ServerChildChannelValue {
    let parts: NIOAsyncChannel<HTTPRequestPart, HTTPResponsePart>
    let routed: RoutedReservation

    var channel: any Channel { parts.channel }
}

extension RequestParser.Limits {
    fileprivate init(_ limits: HTTPLimits) {
        self.init(
            target: limits.target.bytes, field: limits.headerField.bytes, fieldList: limits.headerList.bytes,
            fieldCount: limits.headerFieldCount, body: limits.body)
    }
}

/// An error of a connection, in place of one that may hold what was received: a decoder's does, and the HTTP library logs
/// what it hears.
struct ConnectionFault: Error, CustomStringConvertible {
    /// The type of the error.
    let description: String

    /// The error itself if it is the system's or the connection's.
    static func withoutContents(_ error: any Error) -> any Error {
        switch error {
        case is IOError, is ChannelError, is ConnectionFault: error
        default: ConnectionFault(description: "\(type(of: error))")
        }
    }
}
