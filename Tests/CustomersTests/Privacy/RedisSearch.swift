// SPDX-License-Identifier: Apache-2.0

import Receipts
import Redis
import Testing

@testable import RedisStore
@testable import ServerTestSupport

/// Everything in a Redis, decrypted: a search that knows where values are, not how they are deleted.
struct RedisSearch {
    /// One value, with all that its place says about the name it is sealed for.
    fileprivate struct Leaf {
        var bytes: [UInt8]
        var field = ""
    }

    private(set) var keys: Set<String> = []
    /// By key, each value as stored, and decrypted.
    private(set) var contents: [String: [[UInt8]]] = [:]
    /// The keys with a value that looks sealed and cannot be opened.
    private(set) var unopened: Set<String> = []

    init(_ redis: any RedisClient) async throws {
        for master in redis.masterNodes {
            for key in try await master.send(RedisCommand("KEYS", "*")).texts {
                let leaves = try await Self.leaves(of: key, redis)
                keys.insert(key)
                contents[key] = [Array(key.utf8)] + leaves.flatMap { [$0.bytes, Array($0.field.utf8)] }
                for leaf in leaves {
                    let opened = Self.open(leaf, under: key)
                    contents[key]?.append(contentsOf: opened)
                    if opened.isEmpty, leaf.looksSealed { unopened.insert(key) }
                }
            }
        }
    }

    /// Returns the keys in whose contents a text stands, plain or in base64.
    func keys(naming text: String) -> Set<String> {
        let traces = Self.traces(of: text)
        return Set(contents.filter { $0.value.contains { value in traces.contains { value.contains($0) } } }.keys)
    }

    private static func traces(of text: String) -> [[UInt8]] {
        let plain = Array(text.utf8), encoded = encoded(plain)
        // A notification has signed payloads within a signed payload.
        return [plain] + encoded + encoded.flatMap(Self.encoded)
    }

    /// Returns the middle of a text in base64. It depends on the offset within the text: all three are returned.
    private static func encoded(_ text: [UInt8]) -> [[UInt8]] {
        (0..<3).map { shift in
            let base64 = Base64.encodeURL([UInt8](repeating: 0, count: shift) + text)
            return Array(base64.utf8.dropFirst(4).dropLast(4))
        }
    }

    private static func leaves(of key: String, _ redis: any RedisClient) async throws -> [Leaf] {
        let word = RedisWord(key)
        func values(_ name: RedisWord, _ rest: RedisWord...) async throws -> [[UInt8]] {
            try await redis.send(RedisCommand([name, word] + rest, key: word)).leaves
        }
        switch try await redis.send(RedisCommand("TYPE", key: word)) {
        case .status("string"): return try await values("GET").map { Leaf(bytes: $0) }
        case .status("list"): return try await values("LRANGE", 0, -1).map { Leaf(bytes: $0) }
        case .status("zset"): return try await values("ZRANGE", 0, -1).map { Leaf(bytes: $0) }
        case .status("stream"): return try await values("XRANGE", "-", "+").map { Leaf(bytes: $0) }
        case .status("hash"):
            let parts = try await values("HGETALL")
            return stride(from: 0, to: parts.count - 1, by: 2).map {
                Leaf(bytes: parts[$0 + 1], field: String(decoding: parts[$0], as: UTF8.self))
            }
        default: return []
        }
    }

    /// Returns the decrypted value, if it is sealed for a name that belongs to its place.
    private static func open(_ leaf: Leaf, under key: String) -> [[UInt8]] {
        let seal = StoreSeal(keys: StoreSamples.keys("\(StoreSamples.firstKey),\(StoreSamples.secondKey)"))
        let prefix = String(key.prefix(while: { $0 != "}" })) + "}:"
        let queue = key.split(separator: ":").dropLast().joined(separator: ":")
        let space = leaf.bytes.firstIndex(of: UInt8(ascii: " ")) ?? 0
        let text = String(decoding: leaf.bytes[..<space], as: UTF8.self)
        let order = String(decoding: leaf.bytes.prefix(26), as: UTF8.self)
        let places: [(name: String, sealed: ArraySlice<UInt8>)] = [
            (String(key.dropFirst(SharedCacheNames.resultPrefix.count)), leaf.bytes[...]),
            ("purge", leaf.bytes[...]), (prefix + "notification", leaf.bytes[...]),
            (prefix + "event", leaf.bytes[...]),
            ("\(queue) held \(text)", leaf.bytes.dropFirst(space + 1)),
            ("\(queue) dead \(text)", leaf.bytes.dropFirst(space + 1)),
            ("\(queue) gap", leaf.bytes.dropFirst(space + 1)),
            ("\(key) \(leaf.field) \(order)", leaf.bytes.dropFirst(26)),
        ]
        return places.compactMap { try? seal.open(Array($0.sealed), for: $0.name) }
    }
}

extension RedisSearch.Leaf {
    /// True if the value has the header of a sealed one, at its beginning or behind a text.
    fileprivate var looksSealed: Bool {
        let header = [1, 5] + Array("2026".utf8)
        return bytes.contains(header)
    }
}

extension RedisValue {
    /// All strings in the reply.
    fileprivate var leaves: [[UInt8]] {
        switch self {
        case .string(let bytes): [bytes]
        case .array(let values): values.flatMap(\.leaves)
        default: []
        }
    }

    fileprivate var texts: [String] { leaves.map { String(decoding: $0, as: UTF8.self) } }
}
