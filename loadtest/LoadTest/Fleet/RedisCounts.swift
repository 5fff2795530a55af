// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials

/// What Redis counted until one moment.
struct RedisCounts: Hashable, Sendable {
    /// Commands that were carried out, those within scripts included, by name. Those of whoever asks for the counts are
    /// left out.
    private(set) var operations: [String: Int] = [:]
    /// How often Redis read from a connection: one read for everything that was sent at once.
    private(set) var reads = 0

    /// What is used to count, or to connect.
    private static let overhead: Set<String> = [
        "info", "config", "slowlog", "hello", "auth", "ping", "client", "select", "script", "subscribe", "command",
    ]

    /// Reads what `INFO commandstats` and `INFO stats` said.
    init(_ text: String) {
        for line in text.split(whereSeparator: \.isNewline) {
            if let match = line.wholeMatch(of: /cmdstat_([^:|]+)[^:]*:calls=(\d+),.*/) {
                let name = String(match.1)
                if !Self.overhead.contains(name) { operations[name, default: 0] += Int(match.2) ?? 0 }
            } else if let match = line.wholeMatch(of: /total_reads_processed:(\d+)/) {
                reads = Int(match.1) ?? 0
            }
        }
    }

    private init(operations: [String: Int], reads: Int) {
        self.operations = operations
        self.reads = reads
    }

    /// What was counted since.
    static func - (after: RedisCounts, before: RedisCounts) -> RedisCounts {
        RedisCounts(
            operations: after.operations.merging(before.operations) { $0 - $1 }.filter { $0.value > 0 },
            reads: after.reads - before.reads)
    }

    /// All of them.
    var total: Int { operations.values.reduce(0, +) }
}

extension RunningRedis {
    func counts() async throws -> RedisCounts {
        RedisCounts(try await ask(["info", "commandstats"]) + ask(["info", "stats"]))
    }
}
