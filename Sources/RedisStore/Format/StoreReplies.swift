// SPDX-License-Identifier: Apache-2.0

internal import Gateway
internal import Receipts
package import Redis

/// A duration in whole milliseconds.
extension Duration: RedisArgument {
    package func write(to words: inout [RedisWord]) { words += [RedisWord(wholeMilliseconds)] }
}

private enum RequestLimits {
    /// The commands that one request to Redis has, of `RedisNodeConfiguration.Limits.maximumPipelined`.
    static let pipelined = 256
}

/// Each of these throws unless every reply is there, and of the expected kind.
extension RedisCommands {
    func list(
        _ script: RedisScript, keys: [RedisWord], _ arguments: any RedisArgument...
    ) async throws(StoreUnreachable) -> [RedisValue] {
        try await replies(script, [ScriptCall(keys: keys, words: arguments.redisWords)])[0].list()
    }

    @discardableResult
    func count(
        _ script: RedisScript, keys: [RedisWord], _ arguments: any RedisArgument...
    ) async throws(StoreUnreachable) -> Int {
        let reply = try await replies(script, [ScriptCall(keys: keys, words: arguments.redisWords)])[0]
        guard let count = reply.entryCount else { throw StoreUnreachable() }
        return count
    }

    @discardableResult
    func replies(_ script: RedisScript, _ calls: [ScriptCall]) async throws(StoreUnreachable) -> [RedisValue] {
        try await inParts(calls) { await run(script, $0) }
    }

    func replies(to commands: [RedisCommand]) async throws(StoreUnreachable) -> [RedisValue] {
        try await inParts(commands) { await send($0) }
    }

    /// Returns the replies, and `value` for a key of another type: it is not the gateway's.
    func replies(
        to commands: [RedisCommand], ofAnotherType value: RedisValue
    ) async throws(StoreUnreachable) -> [RedisValue] {
        try await inParts(commands) { part in
            await send(part).map { reply in
                if case .failure(.refused(let refusal)) = reply, refusal.isWrongType { .success(value) } else { reply }
            }
        }
    }

    /// Sends a part after the other: a connection rejects more commands than it can keep waiting.
    private func inParts<Call>(
        _ calls: [Call], _ send: ([Call]) async -> RedisResults
    ) async throws(StoreUnreachable) -> [RedisValue] {
        var values: [RedisValue] = []
        for start in stride(from: 0, to: calls.count, by: RequestLimits.pipelined) {
            let part = Array(calls[start...].prefix(RequestLimits.pipelined))
            values += try await send(part).values(count: part.count)
        }
        return values
    }

    func list(_ command: RedisCommand) async throws(StoreUnreachable) -> [RedisValue] {
        try await replies(to: [command])[0].list()
    }

    /// Reads hashes. A key of another type counts as empty.
    func hashes(_ keys: [RedisWord]) async throws(StoreUnreachable) -> [[(name: [UInt8], value: [UInt8])]] {
        var hashes: [[(name: [UInt8], value: [UInt8])]] = []
        let commands = keys.map { RedisCommand("HGETALL", key: $0) }
        for reply in try await replies(to: commands, ofAnotherType: .array([])) {
            let words = try reply.list().map { $0.bytes ?? [] }
            hashes.append(stride(from: 0, to: words.count - 1, by: 2).map { (words[$0], words[$0 + 1]) })
        }
        return hashes
    }
}

extension RedisResults {
    fileprivate func values(count: Int) throws(StoreUnreachable) -> [RedisValue] {
        guard self.count == count, let values = try? map({ try $0.get() }) else { throw StoreUnreachable() }
        return values
    }
}

extension RedisValue {
    func list() throws(StoreUnreachable) -> [RedisValue] {
        guard case .array(let list) = self else { throw StoreUnreachable() }
        return list
    }

    /// The values of a list; empty for another reply.
    var elements: [RedisValue] { (try? list()) ?? [] }

    var texts: [String] { elements.compactMap(\.text) }

    /// A time in milliseconds since 1970; nil if it is empty.
    var time: Timestamp? { number.map { Timestamp(millisecondsSince1970: $0) } }
}
