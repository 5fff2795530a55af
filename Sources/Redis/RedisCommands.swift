// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// Anything that carries out commands: the client itself, or somebody who stands in front of it.
public protocol RedisCommands: Sendable {
    /// Sends the commands in one write where they go to the same node, and gives each its own outcome, in order.
    func send(_ commands: [RedisCommand]) async -> [Result<RedisValue, RedisError>]
}

extension RedisCommands {
    /// Sends one command.
    public func send(_ command: RedisCommand) async throws(RedisError) -> RedisValue {
        guard let result = await send([command]).first else { throw .protocolViolation }
        return try result.get()
    }
}
