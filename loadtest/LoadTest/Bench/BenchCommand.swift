// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import FoundationEssentials

struct BenchCommand: LongRunCommand {
    static let configuration = CommandConfiguration(
        commandName: "bench",
        abstract: "Measure the gateway beside a bare handler, nginx and Varnish.",
        usage: "receipt-loadtest bench [<options>]",
        discussion: """
            Starts everything itself, servers on one core and the load on another one, lets them take turns run by \
            run, and prints each figure with its target. `make bench` builds for release first.

              near         near-cache hits beside a bare SwiftNIO handler, nginx and
                           Varnish; with the log of all requests, of some and of
                           none; over 32 connections and over 4
              local        local verification of distinct receipts over HTTP; over 32
                           connections and over 4
              verify       parse-and-verify in process: receipts, signed
                           transactions, transaction receipts and notifications
              transactions signed transactions over HTTP: one, twenty, and a new
                           one after twenty known ones
              notifications
                           Apple's notifications over HTTP, without Redis
              form         the form API beside POST /v1/verify
              shared       shared-cache hits over Redis beside redis-benchmark
              fleet        CPU and Redis operations of a request: answered by
                           Apple, by the near cache, by the shared cache of one,
                           two and three gateways
              server_api   CPU of a gateway for a call of the App Store Server API
              tail         p99 at half of saturation
              flood        genuine customers beside a flood of forged receipts
              connections, growth, churn
                           memory of idle connections, over minutes, and after
                           100,000 distinct receipts
              scale        near-cache hits of 1 to 100,000 customers; over 10 to 10,000
                           connections, beside the bare handler; by one event
                           loop and by two
              bodies       the most expensive bodies that an event loop reads
              start        from nothing to the first verified receipt

            Examples:

              receipt-loadtest bench
              receipt-loadtest bench --only near --only tail --runs 9
              receipt-loadtest bench --quick

            nginx, varnish, varnish-modules, redis-server and redis-tools must be installed (.ci/deps bench).
            """)

    @OptionGroup var gateway: GatewayProgram

    @Option(help: .value("folder", "Configurations of nginx and Varnish."))
    var peers = "loadtest/peers"

    @Option(help: "What to measure; repeatable (default: everything).")
    var only: [BenchPart] = []

    @Option(help: .value("count", "Runs of each server (default: 5)."))
    var runs: Int?

    @Option(help: .value("time", "How long each run takes (default: 4s)."))
    var duration: TimeSpan?

    @Option(help: .value("minutes", "How long memory is watched for growth (default: 1)."))
    var minutes: Double?

    @Flag(help: "A second or two for each figure, to see that everything works.")
    var quick = false

    @Option(name: .shortAndLong, help: .value("file", "Where the figures are written as JSON."))
    var output = ".bench/latest.json"

    @Option(help: "How to print the results.")
    var format = ReportFormat.text

    func validate() throws {
        try check("--runs", runs, in: 1...100)
        try check(duration.map { (0.1...600).contains($0.seconds) } ?? true, "--duration takes from 100ms to 10m.")
        try check(minutes.map { $0 > 0 && $0 <= 1440 } ?? true, "--minutes takes minutes above 0, up to 1440.")
        try check(Set(only).count == only.count, "--only names something twice.")
    }

    func measure() async throws -> Int32 {
        let folder = try ScratchFolder()
        defer { folder.remove() }
        let report = try await Bench(plan, gatewayPath: gateway.path, templates: peers, folder: folder).run()
        let file = URL(filePath: output)
        try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try FileError.write(try JSONOutput.of(report) + "\n", to: output)
        return try report.written(as: format)
    }

    var plan: BenchPlan {
        let parts = only.isEmpty ? BenchPart.allCases : BenchPart.allCases.filter(only.contains)
        var plan = quick ? BenchPlan.quick(parts) : BenchPlan(parts: parts)
        if let runs { plan.runs = runs }
        if let duration { plan.seconds = duration.seconds }
        if let minutes { plan.minutes = minutes }
        return plan
    }
}

/// The parts of the bench, as `--only` names them and the help of `bench` describes them.
enum BenchPart: String, CaseIterable, Sendable, ExpressibleByArgument {
    case near, local, verify, transactions, notifications, form, shared, fleet
    case serverAPI = "server_api"
    case tail, flood, connections, growth, churn, scale, bodies, start
}

struct BenchPlan: Hashable, Sendable {
    var parts = BenchPart.allCases
    /// The number of runs of each server, whose medians count.
    var runs = 5
    var seconds = 4.0
    var warmupSeconds = 2.0
    /// The time before each run with full caches: enough to send each receipt several times.
    static let refreshSeconds = 0.5
    /// The end of a load that a number of requests ends.
    static let longestSeconds = 600.0
    var minutes = 1.0
    var keys = 1000
    var bodyBytes = 8192
    /// The number of the load's connections: as of a busy gateway, and as of a gateway whose event loop wakes for a few
    /// requests at once.
    static let manyConnections = 32
    static let fewConnections = 4
    /// The number of receipts that are sent in turn where no cache is to help.
    var distinctReceipts = 20_000
    var notifications = 4000
    var idleConnections = 10_000
    var churnReceipts = 100_000
    /// The most customers whose answers are in the near cache together.
    var scaleCustomers = 100_000
    /// The size of the near cache that the churn is to overflow.
    var churnCacheMebibytes = 64

    /// To see that everything works; the figures mean little.
    static func quick(_ parts: [BenchPart]) -> BenchPlan {
        BenchPlan(
            parts: parts, runs: 2, seconds: 1, warmupSeconds: 0.5, minutes: 0.1, keys: 100, distinctReceipts: 2000,
            notifications: 500, idleConnections: 1000, churnReceipts: 3000, scaleCustomers: 1000,
            churnCacheMebibytes: 8)
    }
}

enum BenchError: Error, Hashable, CustomStringConvertible {
    case notPinned(said: String)
    case noPeers(String)
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
