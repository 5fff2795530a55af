// SPDX-License-Identifier: Apache-2.0

internal import Cryptography
internal import JSON

/// One command for Redis: its name and arguments, as bytes.
package struct RedisCommand: Sendable, Redacted {
    package let words: [RedisWord]
    /// The key, which determines the node in a cluster; nil for any node.
    package let key: RedisWord?

    /// Creates a command about one key, or several in the same hash slot.
    /// - Parameter key: the first key, which precedes `rest` in the command.
    package init(_ name: RedisWord, key: RedisWord, _ rest: any RedisArgument...) {
        self.init([name, key] + rest.redisWords, key: key)
    }

    package init(_ words: any RedisArgument...) { self.init(words.redisWords, key: nil) }

    package init(_ words: [RedisWord], key: RedisWord?) {
        self.words = words
        self.key = key
    }

    /// True for the wait until replicas have the earlier commands of its connection.
    var waitsForReplicas: Bool { words.first == Self.wait }

    private static let wait: RedisWord = "WAIT"

    package var description: String { words.first.map { String(decoding: $0.bytes, as: UTF8.self) } ?? "" }
}

/// One word of a command: any bytes.
package struct RedisWord: Hashable, Sendable, ExpressibleByStringLiteral, ExpressibleByIntegerLiteral {
    package let bytes: [UInt8]

    package init(_ bytes: [UInt8]) { self.bytes = bytes }
    package init(_ text: String) { bytes = Array(text.utf8) }
    package init(_ number: some BinaryInteger) { bytes = Array(String(number).utf8) }
    package init(stringLiteral text: String) { self.init(text) }
    package init(integerLiteral number: Int) { self.init(number) }
}

/// A value that becomes words of a command: a number as digits, a list word by word.
package protocol RedisArgument {
    func write(to words: inout [RedisWord])
}

extension RedisWord: RedisArgument { package func write(to words: inout [RedisWord]) { words.append(self) } }
extension String: RedisArgument {
    package func write(to words: inout [RedisWord]) { words.append(RedisWord(self)) }
}
extension RedisArgument where Self: BinaryInteger {
    package func write(to words: inout [RedisWord]) { words.append(RedisWord(self)) }
}
extension Int: RedisArgument {}
extension Int64: RedisArgument {}
extension UInt64: RedisArgument {}
extension Array: RedisArgument where Element: RedisArgument {
    package func write(to words: inout [RedisWord]) { for argument in self { argument.write(to: &words) } }
}

extension RedisArgument {
    package var redisWords: [RedisWord] {
        var words: [RedisWord] = []
        write(to: &words)
        return words
    }
}

extension [any RedisArgument] {
    package var redisWords: [RedisWord] {
        var words: [RedisWord] = []
        for argument in self { argument.write(to: &words) }
        return words
    }
}

package typealias RedisResults = [Result<RedisValue, RedisError>]

/// An executor of commands: the client itself, or a wrapper.
package protocol RedisCommands: Sendable {
    /// Sends the commands, in one write for each node, and returns one result for each, in order.
    func send(_ commands: [RedisCommand]) async -> RedisResults
}

extension RedisCommands {
    package func send(_ command: RedisCommand) async throws(RedisError) -> RedisValue {
        guard let result = await send([command]).first else { throw .protocolViolation }
        return try result.get()
    }
}

/// A Lua script that Redis runs atomically.
package struct RedisScript: Hashable, Sendable {
    package let source: String
    /// SHA-1 of the source in hexadecimal: its name in Redis.
    package let digest: String

    package init(_ source: String) {
        self.source = source
        digest = ASCII.hexadecimal(HashFunction.sha1.digest(of: Array(source.utf8)))
    }

    /// Returns the command that runs the script by its digest.
    /// - Parameter keys: all keys that it uses, at least one; in a cluster all in one hash slot.
    package func call(keys: [RedisWord], _ arguments: [RedisWord]) -> RedisCommand {
        RedisCommand(["EVALSHA", RedisWord(digest), RedisWord(keys.count)] + keys + arguments, key: keys.first)
    }

    /// Returns the command that runs the script by its source, which Redis caches.
    package func wholeCall(keys: [RedisWord], _ arguments: [RedisWord]) -> RedisCommand {
        RedisCommand(["EVAL", RedisWord(source), RedisWord(keys.count)] + keys + arguments, key: keys.first)
    }
}

extension RedisCommands {
    /// Runs a script by its digest, or by its source if Redis has not cached it.
    package func run(
        _ script: RedisScript, keys: [RedisWord], _ arguments: any RedisArgument...
    ) async throws(RedisError) -> RedisValue {
        let call = ScriptCall(keys: keys, words: arguments.redisWords)
        guard let result = await run(script, [call]).first else { throw .protocolViolation }
        return try result.get()
    }

    package func run(_ script: RedisScript, _ calls: [ScriptCall]) async -> RedisResults {
        guard !calls.isEmpty else { return [] }
        var results = await send(calls.map { script.call(keys: $0.keys, $0.arguments) })
        let unknown = results.indices.filter { results[$0].refusal?.kind == .noScript }
        guard !unknown.isEmpty, results.count == calls.count else { return results }
        let repeated = await send(unknown.map { script.wholeCall(keys: calls[$0].keys, calls[$0].arguments) })
        for (index, result) in zip(unknown, repeated) { results[index] = result }
        return results
    }
}

package struct ScriptCall: Sendable {
    package let keys: [RedisWord]
    package let arguments: [RedisWord]

    package init(keys: [RedisWord], _ arguments: any RedisArgument...) {
        self.init(keys: keys, words: arguments.redisWords)
    }

    package init(keys: [RedisWord], words: [RedisWord]) { (self.keys, arguments) = (keys, words) }
}

extension Result<RedisValue, RedisError> {
    fileprivate var refusal: RedisRefusal? {
        guard case .failure(.refused(let refusal)) = self else { return nil }
        return refusal
    }
}
