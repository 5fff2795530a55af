// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOPosix
import TestSupport

/// An address of this machine that neither accepts nor refuses connections, as one behind a broken route.
enum SilentAddress {
    static let host = "127.0.0.2"

    /// Occupies a port of the address during `body`.
    static func with(
        port: Int, isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> Void
    ) async throws {
        let loops = MultiThreadedEventLoopGroup.singleton
        let listener = try await ServerBootstrap(group: loops)
            .serverChannelOption(.backlog, value: 0)
            .serverChannelOption(.autoRead, value: false)
            .bind(host: host, port: port).get()
        // The listener takes no connection from its queue; when that is full, the kernel drops further ones.
        var waiting: [any Channel] = []
        let bootstrap = ClientBootstrap(group: loops).connectTimeout(TimeAmount(Patience.forLimit))
        while waiting.count < 8, let channel = try? await bootstrap.connect(host: host, port: port).get() {
            waiting.append(channel)
        }
        let outcome: Result<Void, any Error>
        do { outcome = .success(try await body()) } catch { outcome = .failure(error) }
        for channel in waiting + [listener] { try? await channel.close() }
        try outcome.get()
    }
}
