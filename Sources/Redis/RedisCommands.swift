// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// An executor of commands: the client itself, or a wrapper.
public protocol RedisCommands: Sendable {
    /// Sends the commands, in one write for each node, and returns one result for each, in order.
    func send(_ commands: [RedisCommand]) async -> [Result<RedisValue, RedisError>]
}

extension RedisCommands {
    /// Sends one command.
    public func send(_ command: RedisCommand) async throws(RedisError) -> RedisValue {
        guard let result = await send([command]).first else { throw .protocolViolation }
        return try result.get()
    }
}
