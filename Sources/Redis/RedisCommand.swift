// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// One command for Redis: its name and arguments, as bytes.
public struct RedisCommand: Sendable {
    /// Name first, then the arguments.
    public let words: [RedisWord]
    /// Which node of a cluster it goes to: the key it is about; nil for any node.
    public let key: RedisWord?

    /// A command about one key, or several in the same hash slot.
    /// - Parameter key: the first key; stands before `rest` in the command.
    public init(_ name: RedisWord, key: RedisWord, _ rest: RedisWord...) {
        self.init([name, key] + rest, key: key)
    }

    /// A command about no key.
    public init(_ words: RedisWord...) {
        self.init(words, key: nil)
    }

    /// Any command.
    public init(_ words: [RedisWord], key: RedisWord?) {
        self.words = words
        self.key = key
    }
}

extension RedisCommand: CustomStringConvertible, CustomReflectable {
    /// The command's name, and nothing of its arguments.
    public var description: String { words.first.map { String(decoding: $0.bytes, as: UTF8.self) } ?? "" }
    /// Empty, for the same reason.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// One word of a command: any bytes.
public struct RedisWord: Hashable, Sendable, ExpressibleByStringLiteral, ExpressibleByIntegerLiteral {
    /// What is sent.
    public let bytes: [UInt8]

    /// These bytes.
    public init(_ bytes: [UInt8]) { self.bytes = bytes }
    /// A text, in UTF-8.
    public init(_ text: String) { bytes = Array(text.utf8) }
    /// A number, in decimal.
    public init(_ number: some BinaryInteger) { bytes = Array(String(number).utf8) }
    /// A text.
    public init(stringLiteral text: String) { self.init(text) }
    /// A number.
    public init(integerLiteral number: Int) { self.init(number) }
}
