// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import FoundationEssentials

/// How a result is printed on standard output.
enum RunFormat: String, CaseIterable, Sendable, ExpressibleByArgument {
    /// For readers.
    case text
    /// The whole result, once.
    case json
    /// A line for each second while the run goes on, and one with the whole result.
    case ndjson
    /// A row for each second.
    case csv
    /// Nothing: the exit status tells.
    case quiet
}

/// Prints a run on standard output.
struct RunPrinter {
    let format: RunFormat

    /// What is printed as a second ends.
    func line(_ second: RunResult.Second) throws -> String {
        format == .ndjson ? try Self.line(of: second) : ""
    }

    /// What is printed at the end.
    func text(_ result: RunResult) throws -> String {
        switch format {
        case .text: RunText(result: result).text + "\n"
        case .json: try JSONText.of(result) + "\n"
        case .ndjson: try Self.line(of: result)
        case .csv: Self.rows(result.timeline)
        case .quiet: ""
        }
    }

    private static func line(of value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(value), as: UTF8.self) + "\n"
    }

    private static func rows(_ timeline: [RunResult.Second]) -> String {
        let outcomes = Outcome.allCases.map(\.rawValue)
        let names = [
            "second", "target", "sent", "answered", "failed", "shed", "p50_ms", "p90_ms", "p99_ms", "max_ms",
            "send_lag_p99_ms",
        ]
        let rows = timeline.map { row in
            let counts = [row.second, row.sent, row.answered, row.failed, row.shed].map(String.init)
            let figures = [row.target, row.p50, row.p90, row.p99, row.maximum, row.sendLagP99].map {
                $0.map { "\($0)" } ?? ""
            }
            return [counts[0], figures[0]] + counts[1...] + figures[1...]
                + outcomes.map { String(row.outcomes[$0] ?? 0) }
        }
        return ([names + outcomes] + rows).map { $0.joined(separator: ",") + "\n" }.joined()
    }
}
