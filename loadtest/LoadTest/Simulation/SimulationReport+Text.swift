// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

extension SimulationReport {
    var text: String {
        let head =
            "\(passed ? "PASSED" : "FAILED")  \(nodes.grouped) nodes, \(hours.plain) h, "
            + "\(requestsPerSecond.asCount) requests/s, \(shards) shards"
        let parts = [
            ([head] + problems.map { "  " + $0 }).joined(separator: "\n"), samples.joined(separator: "\n"),
            "Limits\n" + limitTable, "The same for clients above their limit, whose shard is lost\n" + limitLossTable,
            "Redis\n" + redisTable, "Calls to Apple for one app\n" + callTable, "Loss of one shard\n" + lossTable,
            "An outage of Apple, for each node\n" + outageTable,
        ]
        return parts.joined(separator: "\n\n")
    }

    private var limitTable: String {
        AlignedTable(
            header: [
                "limit", "load", "nodes", "simulated", "requests", "admitted", "of allowed", "worst burst", "leased",
                "commands/request", "kept",
            ],
            rows: limits.map {
                [
                    $0.limit, $0.load, $0.spread, "\($0.seconds.asCount) s", $0.requests.grouped, $0.admitted.grouped,
                    $0.admittedShare.asPercent, $0.worstBurst.asPercent, $0.leasedShare.percentText,
                    $0.commandsPerRequest.fixed(2), $0.isKept ? "yes" : "NO",
                ]
            }
        ).text
    }

    private var limitLossTable: String {
        AlignedTable(
            header: ["limit", "nodes", "admitted of the rate", "worst burst", "bound", "kept"],
            rows: limitsInLoss.map {
                [
                    $0.limit, $0.spread, $0.admittedShare.percentText, $0.worstBurst.fixed(2), $0.allowedBurst.fixed(2),
                    $0.isKept ? "yes" : "NO",
                ]
            }
        ).text
    }

    private var redisTable: String {
        let limit = SimulationPlan.Limits.commandsPerShard
        func peak(_ name: String, _ rate: Double) -> [String] {
            ["peak/s, \(name)", "\(rate.asCount)\(rate > limit ? ", above \(limit.asCount)" : "")"]
        }
        return AlignedTable(
            header: ["commands", "value"],
            rows: [
                ["for each request", redis.perRequest.fixed(2)],
                ["of them cached answers", redis.cachePerRequest.fixed(2)],
                ["Apple's budget", redis.budgetPerRequest.fixed(2)],
                ["one token bucket of the client", redis.bucketPerRequest.fixed(2)],
                ["in the whole time", redis.total.significant],
                peak("a shard", redis.peakPerShard),
                peak("the shard with the head of the purges", redis.peakOfPurgesShard),
                peak("the shard with Apple's budgets", redis.peakOfBudgetShard),
                ["announced keys/s, to a node", redis.announcementsToNode.asCount],
                ["announced keys/s, of a shard", redis.announcementsOfShard.asCount],
            ]
        ).text
    }

    private var callTable: String {
        AlignedTable(
            header: ["figure", "value"],
            rows: [
                ["customers", calls.customers.grouped], ["requests", calls.requests.grouped],
                ["shared hits", calls.sharedHits.percentText], ["near-cache hits", calls.nearHits.percentText],
                ["near-cache hits with one node for each customer", calls.nearHitsIfRouted.percentText],
                ["answers without Apple for want of budget", calls.degraded.percentText],
                ["calls", calls.total.grouped], ["one operation in a second, maximum", calls.peakPerSecond.grouped],
                [
                    "one operation in an hour, maximum",
                    "\(calls.peakPerHour.grouped) of \(calls.budgetPerHour.grouped)",
                ],
                ["calls/s of all \(calls.apps.significant) apps", calls.perSecondOfFleet.asCount],
            ]
        ).text
    }

    private var lossTable: String {
        AlignedTable(
            header: [
                "shard with", "answers lost", "hits before", "hits, worst", "without Apple", "extra calls",
                "calls in an hour", "back after",
            ],
            rows: losses.map {
                [
                    $0.lost.rawValue, $0.lostAnswers.percentText, $0.usualHitRate.percentText,
                    $0.worstHitRate.percentText, $0.degraded.percentText, $0.extraCalls.grouped,
                    $0.peakCallsPerHour.grouped, $0.recoveryMinutes.map { "\($0) min" } ?? "–",
                ]
            }
        ).text
    }

    private var outageTable: String {
        AlignedTable(
            header: [
                "Apple", "calls/s", "simulated", "opened", "openings", "wanted", "sent", "probes", "needless",
                "closed after",
            ],
            rows: outages.map {
                [
                    $0.fault, $0.callsPerSecondOfNode.significant, $0.simulatedNodes.grouped, $0.openedNodes.grouped,
                    $0.openings.fixed(1), $0.wanted.fixed(1), $0.sent.fixed(1), $0.probes.fixed(1),
                    $0.needlessOpenings.grouped, $0.openedNodes > 0 ? "\($0.recoverySeconds.significant) s" : "–",
                ]
            }
        ).text
    }
}

extension Double {
    /// A number of at least thousands, without decimals: `12,345`.
    fileprivate var asCount: String { grouped(0) }
    /// A share near 1 with the decimals that show a small excess: `100.01 %`.
    fileprivate var asPercent: String { (self * 100).fixed(2) + " %" }
}
