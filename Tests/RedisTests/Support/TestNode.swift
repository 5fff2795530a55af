// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOPosix
import RealServers
import Testing
import TestSupport

@testable import Redis

/// A node, its events, and its shutdown after the test.
struct TestNode {
    let node: RedisNode
    let log: EventLog

    /// Runs `body` with a node that has connected on every loop.
    static func with(
        _ address: RedisAddress, loops: Int = 1, waits: Bool = true,
        _ configure: (inout RedisNodeConfiguration) -> Void = { _ in },
        _ body: (TestNode) async throws -> Void
    ) async throws {
        var configuration = RedisNodeConfiguration(address: address)
        (configuration.commandDeadline, configuration.connectDeadline) = (Patience.forOperation, Patience.forOperation)
        configuration.reconnection.afterRefusal = .milliseconds(100)
        configure(&configuration)
        let group = MultiThreadedEventLoopGroup(numberOfThreads: loops)
        let test = TestNode(configuration, group)
        test.node.start()
        do {
            if waits { try await test.log.wait(for: .connected(.commands), count: loops) }
            try await body(test)
        } catch {
            await test.node.shutdown()
            try await group.shutdownGracefully()
            throw error
        }
        await test.node.shutdown()
        try await group.shutdownGracefully()
    }

    private init(_ configuration: RedisNodeConfiguration, _ group: any EventLoopGroup) {
        log = EventLog()
        node = RedisNode(configuration, eventLoops: group, observer: log)
    }
}

extension RealServer {
    var address: RedisAddress { .host("127.0.0.1", port: port) }
}

extension RedisValue {
    /// A string value of this text.
    static func text(_ text: String) -> Self { .string(Array(text.utf8)) }
}
