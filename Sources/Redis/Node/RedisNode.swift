// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

public import NIOCore

/// One Redis server: a pipelined connection on every event loop, made again whenever it ends, and a subscriber
/// connection if names are tracked.
///
/// Nothing waits for a connection: while there is none, a command fails at once with `.notConnected`. The commands of
/// one `send` travel together on one connection, in order, with no other's between them. Commands that change what a
/// connection answers (`SUBSCRIBE`, `MONITOR`, `CLIENT REPLY`, `QUIT`) must not be sent.
public final class RedisNode: RedisCommands {
    /// What it was made with.
    public let configuration: RedisNodeConfiguration

    /// A node that is not connected yet.
    /// - Parameters:
    ///   - eventLoops: each gets a connection. A caller on one of them uses its own, others one by rotation.
    ///   - observer: learns everything that happens here.
    public init(
        _ configuration: RedisNodeConfiguration, eventLoops: any EventLoopGroup, observer: any RedisObserver
    ) {
        self.configuration = configuration
    }

    /// Begins to connect, and does so for as long as it takes. Does nothing the second time.
    public func start() {}

    /// Ends all connections and fails what waits with `.shutDown`; returns when they are closed. For good.
    public func shutdown() async {}

    /// How it is now.
    public var health: RedisHealth { .disconnected(nil) }

    /// Whether changes of the tracked names are announced now.
    public var isSubscribed: Bool { false }

    /// Sends the commands together and gives each its own outcome, in order. Takes at most the command deadline.
    public func send(_ commands: [RedisCommand]) async -> [Result<RedisValue, RedisError>] {
        commands.map { _ in .failure(.notConnected) }
    }
}
