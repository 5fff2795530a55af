// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Cryptography

/// A Lua script that Redis runs atomically.
public struct RedisScript: Hashable, Sendable {
    /// The source.
    public let source: String
    /// SHA-1 of the source in hexadecimal: its name in Redis.
    public let digest: String

    /// Creates a script.
    public init(_ source: String) {
        self.source = source
        digest = HashFunction.sha1.digest(of: Array(source.utf8)).map { byte in
            (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }.joined()
    }

    /// Returns the command that runs the script by its digest.
    /// - Parameter keys: all keys that it uses, at least one; in a cluster all in one hash slot.
    public func call(keys: [RedisWord], _ arguments: [RedisWord]) -> RedisCommand {
        RedisCommand(["EVALSHA", RedisWord(digest), RedisWord(keys.count)] + keys + arguments, key: keys.first)
    }

    /// Returns the command that runs the script by its source, which Redis caches.
    public func wholeCall(keys: [RedisWord], _ arguments: [RedisWord]) -> RedisCommand {
        RedisCommand(["EVAL", RedisWord(source), RedisWord(keys.count)] + keys + arguments, key: keys.first)
    }
}

extension RedisCommands {
    /// Runs a script by its digest, or by its source if Redis has not cached it.
    public func run(
        _ script: RedisScript, keys: [RedisWord], _ arguments: [RedisWord]
    ) async throws(RedisError) -> RedisValue {
        do throws(RedisError) {
            return try await send(script.call(keys: keys, arguments))
        } catch .refused(let refusal) where refusal.kind == .noScript {
            return try await send(script.wholeCall(keys: keys, arguments))
        }
    }
}
