// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser

/// The parts of the bench, as `--only` names them and the help of `bench` describes them.
enum BenchPart: String, CaseIterable, Sendable, ExpressibleByArgument {
    case near, local, verify, shared, fleet, tail, flood, connections, growth, churn, bodies, start
}

struct BenchPlan: Hashable, Sendable {
    var parts = BenchPart.allCases
    /// The number of runs of each server, of which medians are taken.
    var runs = 5
    /// The time of each run.
    var seconds = 4.0
    /// The time before the first run of each server.
    var warmupSeconds = 2.0
    /// The time before each run with full caches: enough to send each receipt several times.
    static let refreshSeconds = 0.5
    /// The time for which memory is watched for growth.
    var minutes = 1.0
    /// The number of receipts that are sent again and again.
    var keys = 1000
    /// The approximate size of a request's body.
    var bodyBytes = 8192
    var connections = 64
    /// The number of receipts that are sent in turn where no cache is to help.
    var distinctReceipts = 20_000
    var idleConnections = 10_000
    var churnReceipts = 100_000
    /// The size of the near cache that the churn is to overflow.
    var churnCacheMebibytes = 64

    /// To see that everything works; the figures mean little.
    static func quick(_ parts: [BenchPart]) -> BenchPlan {
        BenchPlan(
            parts: parts, runs: 2, seconds: 1, warmupSeconds: 0.5, minutes: 0.1, keys: 100, distinctReceipts: 2000,
            idleConnections: 1000, churnReceipts: 3000, churnCacheMebibytes: 8)
    }

    /// The approximate time of a part in seconds, for its progress.
    func estimate(_ part: BenchPart) -> Double {
        let count = Double(runs)
        return switch part {
        case .near: 7 * (warmupSeconds + 1 + count * (seconds + Self.refreshSeconds))
        case .local: Double(distinctReceipts) / 2000 + 2 * warmupSeconds + count * (2 * seconds + 1)
        case .verify: count * seconds
        case .shared: count * (3 * seconds + 2)
        case .fleet: 10 + Double(Bench.mostGateways) * (seconds + 3)
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

enum BenchError: Error, Hashable, CustomStringConvertible {
    case notPinned(said: String)
    /// The folder with the peers' configurations is missing.
    case noPeers(String)
    /// A template lacks a placeholder, or a value for one.
    case template(String)
    /// Answers had another source than they should.
    case otherwiseAnswered(String, wanted: String, share: Double)
    case failures(String, count: Int, of: Int)
    /// A peer sent its upstream another request.
    case notCached(String)
    case connections(Int, of: Int)
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
