// SPDX-License-Identifier: Apache-2.0

import Glibc
import NIOCore
import NIOEmbedded
import NIOPosix
import Testing

@testable import HTTPServer

@Suite struct NextTurnTests {
    @Test func `work for the next turn runs after the sockets that became readable meanwhile`() async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let loop = group.next()
        let nextTurn = try #require(try await loop.submit { NextTurn(on: loop) }.get())
        let socket = try await Socket(on: loop)
        for _ in 0..<3 {
            let order = try await loop.flatSubmit {
                let promise = loop.makePromise(of: [String].self)
                socket.journal.value.lines = []
                // The loop watches the pipe from its first turn on.
                #expect(nextTurn.schedule { socket.finish("first work", nil) })
                #expect(nextTurn.schedule { socket.finish("last work", promise) })
                socket.write()
                loop.execute { socket.finish("work of this turn", nil) }
                return promise.futureResult
            }.get()
            #expect(order == ["work of this turn", "socket", "first work", "last work"])
        }
        try await socket.channel.close()
        try await group.shutdownGracefully()
    }

    @Test func `a loop without sockets has no next turn, and a loop may end while work waits for one`() async throws {
        #expect(NextTurn(on: EmbeddedEventLoop()) == nil)
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let loop = group.next()
        let nextTurn = try #require(try await loop.submit { NextTurn(on: loop) }.get())
        #expect(try await loop.submit { nextTurn.schedule {} }.get())
        try await group.shutdownGracefully()
    }
}

/// A socket of a loop, whose reads are written to a journal.
private struct Socket: Sendable {
    struct Journal {
        var lines: [String] = []
    }

    let channel: any Channel
    let journal: NIOLoopBoundBox<Journal>
    private let writeEnd: CInt

    init(on loop: any EventLoop) async throws {
        var ends: [CInt] = [-1, -1]
        try #require(unsafe socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0, &ends) == 0)
        let journal = try await loop.submit { NIOLoopBoundBox(Journal(), eventLoop: loop) }.get()
        channel = try await ClientBootstrap(group: loop)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Reader { journal.value.lines.append("socket") })
                }
            }
            .withConnectedSocket(ends[0]).get()
        (self.journal, writeEnd) = (journal, ends[1])
    }

    func write() {
        var byte: UInt8 = 1
        _ = unsafe Glibc.write(writeEnd, &byte, 1)
    }

    func finish(_ line: String, _ promise: EventLoopPromise<[String]>?) {
        journal.value.lines.append(line)
        promise?.succeed(journal.value.lines)
    }

    private final class Reader: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private let onRead: () -> Void

        init(_ onRead: @escaping () -> Void) { self.onRead = onRead }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) { onRead() }
    }
}
