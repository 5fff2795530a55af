// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import NIOPosix

/// One direction of one connection: bytes read at one end wait here until they may be written at the other.
final class Relay: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private enum Limits {
        /// The bytes that may wait; beyond it nothing is read, so that the sender waits, too.
        static let waitingBytes = 1 << 20
    }

    let source: any Channel
    private let sink: any Channel
    private let direction: ProxyFaults.Direction
    private var faults: ProxyFaults
    private var waiting = CircularBuffer<(bytes: ByteBuffer, due: NIODeadline)>()
    private var waitingBytes = 0
    /// The bytes passed since the faults were set.
    private var passedBytes = 0
    private var sourceHasEnded = false
    private var alarm: Scheduled<Void>?

    init(_ direction: ProxyFaults.Direction, from source: any Channel, to sink: any Channel, _ faults: ProxyFaults) {
        (self.direction, self.source, self.sink, self.faults) = (direction, source, sink, faults)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = unwrapInboundIn(data)
        waiting.append((bytes, .now() + TimeAmount(faults.latency)))
        waitingBytes += bytes.readableBytes
        if waitingBytes > Limits.waitingBytes { read(false) }
        pass()
    }

    func channelInactive(context: ChannelHandlerContext) {
        sourceHasEnded = true
        pass()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        end(.reset)
    }

    func faultsChanged(to faults: ProxyFaults) {
        (self.faults, passedBytes) = (faults, 0)
        pass()
    }

    func end(_ how: ProxyFaults.Ending) {
        alarm?.cancel()
        waiting.removeAll()
        // Both options first: closing one end closes the other at once.
        if how == .reset {
            for case let socket as any SocketOptionProvider in [source, sink] {
                _ = socket.setSoLinger(linger(l_onoff: 1, l_linger: 0))
            }
        }
        for channel in [source, sink] { channel.close(promise: nil) }
    }

    /// Writes the bytes that are due, and the end after them.
    private func pass() {
        guard !faults.stalled.contains(direction) else { return }
        let now = NIODeadline.now()
        while let next = waiting.first {
            guard next.due <= now else { return wake(at: next.due) }
            waiting.removeFirst()
            waitingBytes -= next.bytes.readableBytes
            write(next.bytes)
        }
        if sourceHasEnded { sink.close(promise: nil) } else { read(true) }
    }

    private func wake(at due: NIODeadline) {
        alarm?.cancel()
        alarm = source.eventLoop.assumeIsolated().scheduleTask(deadline: due) { [self] in pass() }
    }

    private func write(_ bytes: ByteBuffer) {
        var bytes = bytes
        let allowance = max(0, faults.answerBytesBeforeEnding - passedBytes)
        let isLast = direction == .answers && faults.ending != nil && bytes.readableBytes > allowance
        if isLast { bytes = bytes.getSlice(at: bytes.readerIndex, length: allowance) ?? bytes }
        passedBytes += bytes.readableBytes
        while let piece = bytes.readSlice(length: min(faults.slice ?? bytes.readableBytes, bytes.readableBytes)),
            piece.readableBytes > 0
        {
            sink.writeAndFlush(piece, promise: nil)
        }
        if isLast, let ending = faults.ending { end(ending) }
    }

    private func read(_ isOn: Bool) {
        source.setOption(.autoRead, value: isOn).whenComplete { _ in }
    }
}
