// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix

/// A connection to a server, kept alive; one request at a time.
struct HTTPConnection: Sendable {
    private let channel: any Channel

    /// Connects to a port, of this machine unless another is named.
    static func open(
        host: String = "127.0.0.1", port: Int, limits: DriveLimits = DriveLimits()
    ) async throws(DriveError) -> HTTPConnection {
        let bootstrap = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    try pipeline.addHTTPClientHandlers()
                    try pipeline.addHandler(ExchangeHandler(limits: limits))
                }
            }
        do {
            return HTTPConnection(channel: try await bootstrap.connect(host: host, port: port).get())
        } catch {
            throw .notConnected
        }
    }

    /// Whether neither side has closed it.
    var isOpen: Bool { channel.isActive }

    /// Sends a request and waits for its answer; cancelling closes the connection.
    func ask(_ request: PreparedRequest) async throws(DriveError) -> Reply {
        let reply = channel.eventLoop.makePromise(of: Reply.self)
        let written = channel.eventLoop.makePromise(of: Void.self)
        // On a closed connection no handler sees the request; an answer that came already is not replaced.
        written.futureResult.whenFailure { _ in reply.fail(DriveError.connectionEnded) }
        channel.writeAndFlush(Exchange(request: request, reply: reply), promise: written)
        do {
            return try await withTaskCancellationHandler {
                try await reply.futureResult.get()
            } onCancel: {
                channel.close(promise: nil)
            }
        } catch {
            throw error as? DriveError ?? .connectionEnded
        }
    }

    /// The same as a value.
    func result(of request: PreparedRequest) async -> Result<Reply, DriveError> {
        do throws(DriveError) {
            return .success(try await ask(request))
        } catch {
            return .failure(error)
        }
    }

    /// Sends a request whose answer must be 200.
    func text(of path: String) async throws(DriveError) -> String {
        let reply = try await ask(.get(path))
        guard reply.status == 200 else { throw .status(reply.status) }
        return String(buffer: reply.body)
    }

    func close() async {
        try? await channel.close()
    }
}
