// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials

/// The work of Redis until one moment.
struct RedisCounts: Hashable, Sendable {
    /// Commands that were carried out, those within scripts included, without those that serve to count or to connect.
    private(set) var operations = 0
    /// Reads from connections: one for all commands that arrived together.
    private(set) var reads = 0

    fileprivate static let overhead: Set<String> = [
        "info", "config", "slowlog", "hello", "auth", "ping", "client", "select", "script", "subscribe", "command",
    ]

    /// Reads the replies to `INFO commandstats` and `INFO stats`.
    init(_ text: String) {
        for line in text.split(whereSeparator: \.isNewline) {
            if let match = line.wholeMatch(of: /cmdstat_([^:|]+)[^:]*:calls=(\d+),.*/) {
                if !Self.overhead.contains(String(match.1)) { operations += Int(match.2) ?? 0 }
            } else if let match = line.wholeMatch(of: /total_reads_processed:(\d+)/) {
                reads = Int(match.1) ?? 0
            }
        }
    }
}

/// A command in Redis' log of slow commands: number, time, microseconds, words, address, name of the connection.
struct LoggedCommand: Hashable, Sendable, Decodable {
    let words: [String]
    let address: String

    /// The address of a command within a script.
    private static let script = "?:0"
    /// The longest word that Redis keeps whole.
    private static let maximumWord = 128

    init(from decoder: any Decoder) throws {
        var fields = try decoder.unkeyedContainer()
        for _ in 0..<3 { _ = try fields.decode(Int.self) }
        words = try fields.decode([String].self)
        address = try fields.decode(String.self)
    }

    var name: String { words.first?.lowercased() ?? "" }
    /// True if a gateway sent it.
    var isSent: Bool { address != Self.script && !RedisCounts.overhead.contains(name) }
    var isWhole: Bool { words.allSatisfy { $0.utf8.count < Self.maximumWord } }

    /// Reads the reply to `SLOWLOG GET` in JSON.
    static func read(_ json: String) throws -> [LoggedCommand] {
        try JSONDecoder().decode([LoggedCommand].self, from: Data(json.utf8)).filter(\.isSent)
    }
}

extension RunningRedis {
    func counts() async throws -> RedisCounts {
        RedisCounts(try await send(["info", "commandstats"]) + send(["info", "stats"]))
    }

    /// The commands that gateways send while the body runs.
    func commands(during body: () async throws -> Void) async throws -> [LoggedCommand] {
        try await send(["slowlog", "reset"])
        try await send(["config", "set", "slowlog-log-slower-than", "0"])
        try await body()
        try await send(["config", "set", "slowlog-log-slower-than", "-1"])
        return try LoggedCommand.read(try await send(["--json", "slowlog", "get", "-1"]))
    }

    /// The time that `redis-benchmark` takes for as many commands of each name.
    func microseconds(of commands: [LoggedCommand], pipeline: Int, seconds: Double) async throws -> Double {
        let clients = try await send(["client", "list", "type", "normal"]).split(whereSeparator: \.isNewline)
        // As many connections as the gateway has: redis-cli has one, too.
        let connections = max(1, clients.count - 1)
        var microseconds = 0.0
        for (_, alike) in Dictionary(grouping: commands, by: \.name) {
            guard let sample = alike.first(where: \.isWhole) else { continue }
            func rate(_ count: Int) async throws -> Double {
                try await benchmark(sample.words, count: count, connections: connections, pipeline: pipeline)
            }
            // So many that it takes its time.
            let rate = try await rate(max(1000, Int(try await rate(10_000) * seconds)))
            microseconds += 1e6 / rate * Double(alike.count)
        }
        return microseconds
    }

    /// The number of commands in a second.
    private func benchmark(_ command: [String], count: Int, connections: Int, pipeline: Int) async throws -> Double {
        let arguments = ["-p", "\(port)", "-n", "\(count)", "-c", "\(connections)", "-P", "\(pipeline)", "--csv"]
        let text = try await FinishedProgram.run("redis-benchmark", arguments + command).output
        // The rate stands behind the command's own text.
        let fields = (text.split(whereSeparator: \.isNewline).last ?? "").split(separator: ",").suffix(7)
        guard let rate = fields.first.flatMap({ Double($0.filter { $0 != "\"" }) }), rate > 0 else {
            throw FleetError.redis(said: text)
        }
        return rate
    }
}
