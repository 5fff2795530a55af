// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import NIOHTTP1
internal import NIOHTTPTypesHTTP1

/// Writes `Connection: close` into requests after which the client will not go on: HTTP/1.0 without keep-alive, and
/// all the spellings of close (RFC 9112 §9.3). Behind it one comparison tells, and no version is needed.
final class LastRequestMarker: ChannelInboundHandler, RemovableChannelHandler, Sendable {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .head(var head) = unwrapInboundIn(data), !head.isKeepAlive else {
            return context.fireChannelRead(data)
        }
        head.headers.replaceOrAdd(name: "connection", value: "close")
        context.fireChannelRead(wrapInboundOut(.head(head)))
    }

    /// Puts the marker in front of the conversion to `HTTPRequest`, which drops the version, and leaves.
    final class Installer: ChannelInboundHandler, RemovableChannelHandler, Sendable {
        typealias InboundIn = Any

        func handlerAdded(context: ChannelHandlerContext) {
            let pipeline = context.pipeline.syncOperations
            do {
                let codec = try pipeline.handler(type: HTTP1ToHTTPServerCodec.self)
                try pipeline.addHandler(LastRequestMarker(), position: .before(codec))
            } catch {
                context.fireErrorCaught(error)
            }
            pipeline.removeHandler(context: context, promise: nil)
        }
    }
}
