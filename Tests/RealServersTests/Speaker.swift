// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOPosix
import RealServers
import Synchronization

/// One connection to a port of this machine.
final class Speaker: Sendable {
    private struct Ear {
        var heard = ""
        var ending: Toxics.Ending?
    }

    private let channel: any Channel
    private let ear = Mutex(Ear())

    init(port: Int) async throws {
        let (words, hearing) = AsyncStream<Result<String, any Error>>.makeStream()
        channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Listening(hearing))
                }
            }
            .connect(host: "127.0.0.1", port: port).get()
        Task { [weak self] in
            for await word in words { self?.note(word) }
            self?.ear.withLock { $0.ending = $0.ending ?? .truncation }
        }
    }

    deinit {
        channel.close(promise: nil)
    }

    /// The text received since the last `hear`.
    var heard: String { ear.withLock { $0.heard } }

    func say(_ text: String) async throws {
        try await channel.writeAndFlush(ByteBuffer(string: text))
    }

    /// Waits for this many bytes of ASCII, and returns all that have arrived.
    func hear(_ bytes: Int) async throws -> String {
        while ear.withLock({ $0.heard.utf8.count < bytes && $0.ending == nil }) {
            try await Task.sleep(for: .milliseconds(2))
        }
        return ear.withLock { ear in
            defer { ear.heard = "" }
            return ear.heard
        }
    }

    /// Returns true if nothing arrives for this time.
    func hearsNothing(for time: Duration) async -> Bool {
        try? await Task.sleep(for: time)
        return ear.withLock { $0.heard.isEmpty && $0.ending == nil }
    }

    /// Waits for the end of the connection, and returns its kind.
    func hearsTheEnd() async -> Toxics.Ending? {
        while ear.withLock({ $0.ending == nil }) { try? await Task.sleep(for: .milliseconds(2)) }
        return ear.withLock { $0.ending }
    }

    private func note(_ word: Result<String, any Error>) {
        ear.withLock { ear in
            switch word {
            case .success(let text): ear.heard += text
            case .failure: ear.ending = .reset
            }
        }
    }
}

private final class Listening: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    private let hearing: AsyncStream<Result<String, any Error>>.Continuation

    init(_ hearing: AsyncStream<Result<String, any Error>>.Continuation) {
        self.hearing = hearing
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        hearing.yield(.success(String(buffer: unwrapInboundIn(data))))
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        hearing.yield(.failure(error))
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        hearing.finish()
    }
}
