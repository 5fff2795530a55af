// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser

/// What is measured; the raw values are those of `--only`.
enum BenchPart: String, CaseIterable, Codable, Sendable, ExpressibleByArgument {
    /// Near-cache hits beside bare handlers, nginx and Varnish.
    case near
    /// Local verification of distinct receipts over HTTP.
    case local
    /// Parse-and-verify in process.
    case verify
    /// Shared-cache hits over Redis.
    case shared
    /// The tail at half of saturation.
    case tail
    /// Genuine customers beside a flood of forged receipts.
    case flood
    /// Memory of idle connections.
    case connections
    /// Memory under half of the load, over minutes.
    case growth
    /// Memory after many distinct receipts.
    case churn
    /// The most expensive bodies that are read on an event loop.
    case bodies
    /// From nothing to the first verified receipt.
    case start
}

/// How long and how often is measured.
struct BenchPlan: Hashable, Sendable {
    var parts = BenchPart.allCases
    /// Of each contestant; medians are taken of them.
    var runs = 5
    /// Of each run.
    var seconds = 4.0
    /// Before the first run of each contestant.
    var warmupSeconds = 2.0
    /// Before each run in which caches are to have everything: enough to ask about each receipt several times.
    static let refreshSeconds = 0.5
    /// How long memory is watched for growth.
    var minutes = 1.0
    /// Receipts that are asked about again and again.
    var keys = 1000
    /// Of a request's body, about.
    var bodyBytes = 8192
    var connections = 64
    /// Receipts that are asked about in turn where no cache is to help.
    var distinctReceipts = 20_000
    var idleConnections = 10_000
    var churnReceipts = 100_000
    /// The near cache that the churn is to overflow.
    var churnCacheMebibytes = 64

    /// To see that everything works; the figures mean little.
    static func quick(_ parts: [BenchPart]) -> BenchPlan {
        BenchPlan(
            parts: parts, runs: 2, seconds: 1, warmupSeconds: 0.5, minutes: 0.1, keys: 100, distinctReceipts: 2000,
            idleConnections: 1000, churnReceipts: 3000, churnCacheMebibytes: 8)
    }

    /// How long a part takes, about, in seconds: what its progress counts.
    func estimate(_ part: BenchPart) -> Double {
        let count = Double(runs)
        return switch part {
        case .near: 7 * (warmupSeconds + 1 + count * (seconds + Self.refreshSeconds))
        case .local: Double(distinctReceipts) / 2000 + 2 * warmupSeconds + count * (2 * seconds + 1)
        case .verify: count * seconds
        case .shared: count * (3 * seconds + 2)
        case .tail: warmupSeconds + seconds + 2 * count * (seconds + Self.refreshSeconds)
        case .flood: warmupSeconds + seconds + 2 * count * seconds
        case .connections: 12
        case .growth: warmupSeconds + seconds + 60 * minutes
        case .churn: Double(churnReceipts) / 1000
        case .bodies: 10
        case .start: count
        }
    }
}

/// Why nothing could be measured.
enum BenchError: Error, Hashable, CustomStringConvertible {
    /// `taskset` refused.
    case notPinned(said: String)
    /// The folder with the peers' configurations is somewhere else.
    case noPeers(String)
    /// A place without its value, or a value without its place.
    case template(String)
    /// Answers came from elsewhere than where they were to come from.
    case otherwiseAnswered(String, wanted: String, share: Double)
    /// Errors, or no answers.
    case failures(String, count: Int, of: Int)
    /// A peer asked its upstream again.
    case notCached(String)
    /// Not all connections came about.
    case connections(Int, of: Int)
    /// No verdict within the time a start may take.
    case noStart

    var description: String {
        switch self {
        case .notPinned(let said): "This process cannot be kept to a core: \(said)"
        case .noPeers(let path):
            "'\(path)' is not there. Run this in the repository, or name loadtest/peers with --peers."
        case .template(let name): "A peer's configuration and this program disagree about '\(name)'."
        case .otherwiseAnswered(let name, let wanted, let share):
            "Only \((100 * share).fixed(1)) % of the answers of \(name) were \(wanted); nothing was measured."
        case .failures(let name, let count, let all):
            "\(count.grouped) of \(all.grouped) requests to \(name) failed; nothing was measured."
        case .notCached(let name): "\(name) did not answer from its cache; nothing was measured."
        case .connections(let open, let all):
            "Only \(open.grouped) of \(all.grouped) connections came about; see ulimit -n."
        case .noStart: "A gateway gave no verdict within a minute of its start."
        }
    }
}
