// SPDX-License-Identifier: Apache-2.0

internal import Logging
internal import NIOCore
internal import Telemetry

/// The first handler of a connection from a load balancer that speaks the PROXY protocol. Once the header has arrived, it
/// adds the other handlers, passes on the bytes behind the header, and leaves.
final class ProxyHeaderHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private let opening: ConnectionOpening
    private var received = ByteBuffer()
    private var timer: Scheduled<Void>?

    init(_ opening: ConnectionOpening) {
        self.opening = opening
    }

    func handlerAdded(context: ChannelHandlerContext) {
        timer = context.eventLoop.assumeIsolated().scheduleTask(in: opening.edge.rules.headersDeadline) {
            self.reject(context, "no header in time")
        }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        timer?.cancel()
        timer = nil
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        received.writeImmutableBuffer(unwrapInboundIn(data))
        do throws(ProxyHeader.Fault) {
            guard let header = try ProxyHeader.read(from: &received) else { return }
            proceed(context, header)
        } catch {
            reject(context, "\(error)")
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        // Without its first bytes a connection has no request to finish.
        case is ChannelShouldQuiesceEvent, ChannelEvent.inputClosed: context.close(promise: nil)
        default: context.fireUserInboundEventTriggered(event)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    private func proceed(_ context: ChannelHandlerContext, _ header: ProxyHeader) {
        do {
            guard try opening.serve(context.channel, for: header.source) else { return context.close(promise: nil) }
        } catch {
            return context.close(promise: nil)
        }
        if received.readableBytes > 0 {
            context.fireChannelRead(wrapInboundOut(received))
            context.fireChannelReadComplete()
        }
        received = ByteBuffer()
        context.pipeline.syncOperations.removeHandler(self, promise: nil)
    }

    private func reject(_ context: ChannelHandlerContext, _ fault: String) {
        opening.edge.metrics?.openingFailures[.proxyHeader]?.increment()
        opening.logger.debug("Connection without a PROXY protocol header", metadata: ["fault": "\(fault)"])
        context.close(promise: nil)
    }
}
