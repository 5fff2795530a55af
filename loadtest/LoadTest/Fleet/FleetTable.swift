// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// A report for readers.
struct FleetTable {
    let report: FleetReport

    var text: String { [costs, sharedHits, sizes, Self.legend].joined(separator: "\n\n") }

    private var costs: String {
        var table = TextTable(header: [
            "answered by", "leases", "requests", "commands", "operations", "round trips", "CPU us",
            "sent for a request",
        ])
        for cost in report.costs {
            let sent = cost.byCommand.sorted { $0.key < $1.key }.map { "\($0) \($1.fixed(2))" }
            table.append([
                cost.way.rawValue, cost.leases.rawValue, cost.requests.grouped, cost.commands.fixed(2),
                cost.operations.fixed(2), cost.roundTrips.fixed(2), cost.cpuMicroseconds.fixed(0),
                sent.isEmpty ? "-" : sent.joined(separator: ", "),
            ])
        }
        return table.text
    }

    private var sharedHits: String {
        var table = TextTable(header: ["shared hits", "requests/s", "redis-benchmark/s", "ratio", "pipelined"])
        for hits in report.sharedHits {
            table.append([
                hits.leases.rawValue, Int(hits.requestsPerSecond).grouped, Int(hits.redisBenchmarkPerSecond).grouped,
                hits.ratio.fixed(2), String(hits.pipeline),
            ])
        }
        return table.text
    }

    private var sizes: String {
        var table = TextTable(header: ["nodes", "leases", "requests", "requests/s", "operations", "CPU us"])
        for size in report.sizes {
            table.append([
                String(size.nodes), size.leases.rawValue, size.requests.grouped, Int(size.requestsPerSecond).grouped,
                size.operations.fixed(2), size.cpuMicroseconds.fixed(0),
            ])
        }
        return table.text
    }

    private static let legend = """
        leases               unlimited: no limits; without: three tiers asked of Redis each time; with: tokens in advance
        commands             what a gateway sends for a request; operations: what Redis does, scripts' commands included
        round trips          reads of Redis for a request that is asked alone
        CPU us               of the gateways' processes together, for a request
        redis-benchmark/s    requests' worth of the same commands, over as many connections, pipelined as deep
        Load, gateways, Redis and simulated Apple share this machine, so requests/s tell less than what a request costs.
        """
}
