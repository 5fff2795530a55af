// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import NIOHTTP1
internal import Settings

/// Feeds received bytes to a `RequestParser`, and passes on the parts of requests.
final class RequestDecoder: ByteToMessageDecoder {
    typealias InboundOut = HTTPServerRequestPart

    private var parser: RequestParser
    private var hasFailed = false

    init(_ limits: HTTPLimits) {
        parser = RequestParser(limits)
    }

    /// True if the arriving request is known to be for HEAD.
    var isHead: Bool { parser.isHead }

    func decode(context: ChannelHandlerContext, buffer: inout ByteBuffer) -> DecodingState {
        do throws(EdgeRefusal) {
            while !hasFailed, let part = try parser.next(in: &buffer) { context.fireChannelRead(wrapInboundOut(part)) }
        } catch {
            fail(error, context)
        }
        if hasFailed { buffer.moveReaderIndex(to: buffer.writerIndex) }
        return .needMoreData
    }

    /// Refuses a request that ends in the middle.
    func decodeLast(context: ChannelHandlerContext, buffer: inout ByteBuffer, seenEOF: Bool) -> DecodingState {
        _ = decode(context: context, buffer: &buffer)
        if seenEOF, !hasFailed, parser.isWithinRequest(before: buffer) { fail(.malformed, context) }
        return .needMoreData
    }

    /// Reports the first failure; later input is dropped.
    private func fail(_ refusal: EdgeRefusal, _ context: ChannelHandlerContext) {
        hasFailed = true
        context.fireErrorCaught(UnreadableRequest(refusal: refusal, isHead: parser.isHead))
    }
}

struct UnreadableRequest: Error, Hashable, Sendable {
    let refusal: EdgeRefusal
    /// True if its answer must have no body.
    let isHead: Bool
}
