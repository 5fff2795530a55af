// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials

/// The commands that clients sent to Redis, as its slow log has them when it logs everything.
struct SentCommands: Hashable, Sendable {
    /// The words of each; long ones are cut off by Redis.
    let commands: [[String]]

    /// The longest word that Redis keeps whole.
    private static let maximumWord = 128

    /// Reads what `redis-cli --json SLOWLOG GET` said, and leaves out what scripts did and what served to count.
    init(_ json: String) throws {
        let entries = try JSONDecoder().decode([Entry].self, from: Data(json.utf8))
        commands = entries.filter { $0.address != Entry.script && !$0.isOverhead }.map(\.words)
    }

    /// How many of each there were, by name in lower case.
    var byName: [String: Int] {
        commands.reduce(into: [:]) { $0[$1.first?.lowercased() ?? "", default: 0] += 1 }
    }

    /// One of them by name, whose words are all there.
    func sample(_ name: String) -> [String]? {
        commands.first { $0.first?.lowercased() == name && $0.allSatisfy { $0.utf8.count < Self.maximumWord } }
    }

    private struct Entry: Decodable {
        /// What stands in the place of an address for a command within a script.
        static let script = "?:0"

        let words: [String]
        let address: String

        var isOverhead: Bool {
            ["hello", "slowlog", "config", "info", "client", "ping", "auth", "script", "subscribe"].contains(
                words.first?.lowercased() ?? "")
        }

        /// Number, time, microseconds, words, address, name of the connection.
        init(from decoder: any Decoder) throws {
            var fields = try decoder.unkeyedContainer()
            for _ in 0..<3 { _ = try fields.decode(Int.self) }
            words = try fields.decode([String].self)
            address = try fields.decode(String.self)
        }
    }
}

extension RunningRedis {
    /// The commands that are sent while the body runs.
    func commands(during body: () async throws -> Void) async throws -> SentCommands {
        try await ask(["slowlog", "reset"])
        try await ask(["config", "set", "slowlog-log-slower-than", "0"])
        try await body()
        try await ask(["config", "set", "slowlog-log-slower-than", "-1"])
        return try SentCommands(try await ask(["--json", "slowlog", "get", "-1"]))
    }
}
