// SPDX-License-Identifier: Apache-2.0

internal import Clients
internal import NIOCore
internal import NIOPosix

/// Runs work on an event loop after the loop has polled its sockets.
///
/// SwiftNIO runs everything that is due before it polls. With a timer the loop would set the timer, and idle until it fires.
/// Here the loop watches a pipe. A byte in it ends the next poll at once, and that poll also finds the sockets that are
/// readable.
final class NextTurn: Sendable {
    private struct State {
        var work: [@Sendable () -> Void] = []
        /// The end of the pipe to write to; nil while the loop does not watch the other end.
        var writeEnd: CInt?
        /// True once the loop closes the other end, even if it then fails to watch it.
        var closesReadEnd = false
    }

    private let loop: any EventLoop
    private let state: NIOLoopBoundBox<State>

    /// Returns nil for a loop that has no sockets, as in some tests. On the loop only.
    init?(on loop: any EventLoop) {
        guard let bootstrap = NIOPipeBootstrap(validatingGroup: loop) else { return nil }
        self.loop = loop
        state = NIOLoopBoundBox(State(), eventLoop: loop)
        guard let (readEnd, writeEnd) = CLibrary.openPipe() else { return nil }
        bootstrap
            .channelOption(.recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: 16))
            .channelInitializer { channel in
                self.state.value.closesReadEnd = true
                return channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Reader { self.run() })
                }
            }
            .takingOwnershipOfDescriptor(input: readEnd)
            .assumeIsolated().whenComplete { watched in
                guard case .success(let channel) = watched else {
                    if !self.state.value.closesReadEnd { CLibrary.closeDescriptor(readEnd) }
                    CLibrary.closeDescriptor(writeEnd)
                    return
                }
                self.state.value.writeEnd = writeEnd
                channel.closeFuture.assumeIsolated().whenComplete { _ in
                    self.state.value.writeEnd = nil
                    CLibrary.closeDescriptor(writeEnd)
                }
            }
    }

    /// Returns false, and schedules nothing, if the loop does not watch the pipe or it cannot be written. On the loop only.
    func schedule(_ work: @escaping @Sendable () -> Void) -> Bool {
        guard let writeEnd = state.value.writeEnd else { return false }
        guard !state.value.work.isEmpty || CLibrary.writeByte(to: writeEnd) else { return false }
        state.value.work.append(work)
        return true
    }

    private func run() {
        let work = state.value.work
        state.value.work = []
        // After all sockets of this poll were read.
        for work in work { loop.execute(work) }
    }

    private final class Reader: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private let onRead: () -> Void

        init(_ onRead: @escaping () -> Void) { self.onRead = onRead }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) { onRead() }
    }
}
