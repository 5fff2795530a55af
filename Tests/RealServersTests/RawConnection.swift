// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOPosix
import RealServers
import Synchronization

/// One connection to a port of this machine, for texts.
final class RawConnection: Sendable {
    private let channel: any Channel
    private let receiver = Receiver()

    init(port: Int) async throws {
        channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelInitializer { [receiver] channel in
                channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(receiver) }
            }
            .connect(host: "127.0.0.1", port: port).get()
    }

    deinit {
        channel.close(promise: nil)
    }

    /// The text received since the last `receive`.
    var received: String { receiver.state.withLock { $0.text } }

    func send(_ text: String) async throws {
        try await channel.writeAndFlush(ByteBuffer(string: text))
    }

    /// Waits for this many bytes of ASCII, and returns all that have arrived.
    func receive(_ bytes: Int) async -> String {
        await receiver.wait { $0.text.utf8.count >= bytes }
        return receiver.state.withLock { state in
            defer { state.text = "" }
            return state.text
        }
    }

    /// Returns true if nothing arrives for this time.
    func receivesNothing(for time: Duration) async -> Bool {
        // The absence of bytes has no event.
        try? await Task.sleep(for: time)
        return receiver.state.withLock { $0.text.isEmpty && $0.ending == nil }
    }

    /// Waits for the end of the connection, and returns its kind.
    func ending() async -> ProxyFaults.Ending? {
        await receiver.wait { _ in false }
        return receiver.state.withLock { $0.ending }
    }
}

private final class Receiver: ChannelInboundHandler, Sendable {
    typealias InboundIn = ByteBuffer

    struct State {
        var text = ""
        var ending: ProxyFaults.Ending?
        var waiter: (isMet: @Sendable (State) -> Bool, continuation: CheckedContinuation<Void, Never>)?
    }

    let state = Mutex(State())

    /// Waits until the condition is met, or the connection has ended.
    func wait(until isMet: @escaping @Sendable (State) -> Bool) async {
        await withCheckedContinuation { continuation in update { $0.waiter = (isMet, continuation) } }
    }

    private func update(_ change: (inout State) -> Void) {
        let met = state.withLock { state -> CheckedContinuation<Void, Never>? in
            change(&state)
            guard let waiter = state.waiter, state.ending != nil || waiter.isMet(state) else { return nil }
            state.waiter = nil
            return waiter.continuation
        }
        met?.resume()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        update { $0.text += String(buffer: unwrapInboundIn(data)) }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        update { $0.ending = .reset }
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        update { $0.ending = $0.ending ?? .truncation }
    }
}
