// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// One command for Redis: its name and arguments, as bytes.
public struct RedisCommand: Sendable {
    /// The name, then the arguments.
    public let words: [RedisWord]
    /// The key, which determines the node in a cluster; nil for any node.
    public let key: RedisWord?

    /// Creates a command about one key, or several in the same hash slot.
    /// - Parameter key: the first key, which precedes `rest` in the command.
    public init(_ name: RedisWord, key: RedisWord, _ rest: RedisWord...) {
        self.init([name, key] + rest, key: key)
    }

    /// Creates a command without a key.
    public init(_ words: RedisWord...) { self.init(words, key: nil) }

    /// Creates a command.
    public init(_ words: [RedisWord], key: RedisWord?) {
        self.words = words
        self.key = key
    }
}

extension RedisCommand: CustomStringConvertible, CustomReflectable {
    /// The command's name, without its arguments.
    public var description: String { words.first.map { String(decoding: $0.bytes, as: UTF8.self) } ?? "" }
    /// Empty, for the same reason.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// One word of a command: any bytes.
public struct RedisWord: Hashable, Sendable, ExpressibleByStringLiteral, ExpressibleByIntegerLiteral {
    /// The bytes to send.
    public let bytes: [UInt8]

    /// Creates a word of bytes.
    public init(_ bytes: [UInt8]) { self.bytes = bytes }
    /// Creates a word of text, in UTF-8.
    public init(_ text: String) { bytes = Array(text.utf8) }
    /// Creates a word of a number, in decimal.
    public init(_ number: some BinaryInteger) { bytes = Array(String(number).utf8) }
    /// Creates a word of text.
    public init(stringLiteral text: String) { self.init(text) }
    /// Creates a word of a number.
    public init(integerLiteral number: Int) { self.init(number) }
}

/// One result for each command, in order.
public typealias RedisResults = [Result<RedisValue, RedisError>]

/// An executor of commands: the client itself, or a wrapper.
public protocol RedisCommands: Sendable {
    /// Sends the commands, in one write for each node, and returns one result for each, in order.
    func send(_ commands: [RedisCommand]) async -> RedisResults
}

extension RedisCommands {
    /// Sends one command.
    public func send(_ command: RedisCommand) async throws(RedisError) -> RedisValue {
        guard let result = await send([command]).first else { throw .protocolViolation }
        return try result.get()
    }
}
