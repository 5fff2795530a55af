// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Resilience

/// The tables of `docs/appendix-measurements.md` (The simulation) are expected of a smaller fleet.
struct SizingTests {
    /// The part of the documented 1,000 nodes, 500,000 customers, and 600,000 tokens of each limit. The documented
    /// figures are the results of scale 1, which takes minutes and needs an optimised build.
    private static let scale = 50

    private static func limit(_ quota: Int, seconds: Int) -> RatePolicy {
        RatePolicy(name: "limit", quota: quota, window: .seconds(seconds))
    }

    private static let limits = [
        limit(100, seconds: 60), limit(400, seconds: 60), limit(200_000, seconds: 86_400), limit(100, seconds: 1),
        limit(1000, seconds: 1), limit(10_000, seconds: 1),
    ]

    @Test(arguments: limits, LimitedClient.Load.allCases)
    func `a limit is kept in every window, and a client below it is admitted`(
        limit: RatePolicy, load: LimitedClient.Load
    ) {
        let spread = load == .bursts ? LimitedClient.Spread.few : .uneven
        var client = LimitedClient(policy: limit, load: load, spread: spread, seconds: 0)
        client.seconds = min(86_400, 600_000 * client.interval) / Double(Self.scale)
        let outcome = client.run(nodes: 1000)
        #expect(outcome.ledger.worstExcess <= .zero)
        if load == .below { #expect(outcome.ledger.total == outcome.requests) }
        if load == .above { #expect(Double(outcome.ledger.total) * client.interval / client.seconds > 0.98) }
        let commands = Double(outcome.commands) / Double(outcome.requests)
        let documented = load != .below ? 0...1 : limit.quota == 10_000 ? 0.64...0.68 : 0.93...1
        #expect(documented.contains(commands), "\(commands)")
    }

    @Test(arguments: zip([limits[0], limits[1], limits[3]], [[0.755, 0.433], [0.623, 0.377], [0.606, 0.374]]))
    func `while its shard is lost, a client gets the shares of the nodes that it reaches`(
        limit: RatePolicy, documented: [Double]
    ) {
        // Each change between Redis and the nodes' shares may admit one burst more, and a full share admits one request
        // however small it is (`FairShare`).
        let allowed = limit.tokenBucket.timeToFill * (1 + max(1, 1000 / Double(limit.burst)))
        for (spread, documented) in zip(LimitedClient.Spread.allCases, documented + [0.01]) {
            let client = LimitedClient(policy: limit, load: .above, spread: spread, seconds: 1200, loss: 300..<900)
            let outcome = client.run(nodes: 1000), share = Double(outcome.admittedInLoss) * client.interval / 600
            #expect(abs(share - documented) < 0.001 && outcome.ledger.worstExcess <= allowed, "\(spread) \(share)")
            // Nodes that each count only themselves admit all.
            guard spread == .even else { continue }
            #expect(Double(client.run(nodes: 1000, liveNodes: 1).admittedInLoss) * client.interval / 600 > 1.4)
        }
    }

    /// Runs a day of one app's customers, with a part of Apple's budget for an operation (`ServerAPIBudget`).
    private static func day(losing loss: CustomerFleet.Loss) -> CustomerFleet {
        let budget = RatePolicy(
            name: "budget", quota: 159_344 / scale, window: .seconds(3600), burst: 2655 / scale, isLeased: false)
        var fleet = CustomerFleet(nodes: 1000 / scale, customers: 500_000 / scale, budget: budget, losing: loss)
        fleet.run()
        return fleet
    }

    private static let usual = day(losing: .nothing)

    @Test func `a customer costs the documented calls and commands`() {
        let day = Self.usual, refreshes = day.share(\.refreshes)
        #expect(abs(day.share(\.hits) - 0.793) < 0.002 && abs(refreshes - 0.207) < 0.002, "\(refreshes)")
        #expect(abs(day.share(\.nearIfRouted) - 0.266) < 0.002 && day.count(\.degraded) == 0)
        // A look-up, 8 commands of a refresh with the commands of the budget, and one token bucket of the client.
        #expect(abs(3 + 8 * refreshes + 1 - 5.65) < 0.02)
        #expect(abs(Double(2 * Self.scale * day.count(\.refreshes)) / 2_476_308 - 1) < 0.01)
        #expect(abs(Double(Self.busiestHour(of: day)) / 89_460 - 1) < 0.03, "\(Self.busiestHour(of: day))")
    }

    /// Returns the most calls of one operation in an hour, of the documented number of customers.
    private static func busiestHour(of fleet: CustomerFleet) -> Int {
        let hours = (0...CustomerFleet.periods - 6).map { fleet.count(\.refreshes, in: $0..<$0 + 6) }
        return (hours.max() ?? 0) * scale
    }

    struct LossRow: Sendable {
        let loss: CustomerFleet.Loss
        let lost, hits, degraded, extraCalls, busiestHour: Double
        /// The periods from the loss until the hits are within a point of the usual hits.
        let recovery: ClosedRange<Int>
    }

    @Test(arguments: [
        LossRow(
            loss: .answers, lost: 0.1, hits: 0.723, degraded: 0, extraCalls: 16_410, busiestHour: 96_946,
            recovery: 0...2),
        LossRow(
            loss: .budget, lost: 0.1, hits: 0.698, degraded: 0.043, extraCalls: 14_216, busiestHour: 95_850,
            recovery: 0...2),
        LossRow(
            loss: .purges, lost: 1, hits: 0.001, degraded: 0.61, extraCalls: 70_726, busiestHour: 121_810,
            recovery: 12...41),
    ])
    func `losing a shard costs the documented answers and calls`(row: LossRow) {
        let day = Self.day(losing: row.loss), usual = Self.usual, loss = CustomerFleet.lossPeriod
        #expect(abs(Double(day.lostAnswers) / Double(day.freshAnswers) - row.lost) < 0.01)
        #expect(abs(usual.share(\.hits, in: loss..<loss + 1) - 0.802) < 0.01)
        #expect(abs(day.share(\.hits, in: loss..<loss + 1) - row.hits) < 0.03)
        #expect(abs(day.share(\.degraded, in: loss..<loss + 1) - row.degraded) < 0.06)
        let extra = day.count(\.refreshes, in: loss..<loss + 7) - usual.count(\.refreshes, in: loss..<loss + 7)
        #expect(abs(Double(2 * Self.scale * extra) / row.extraCalls - 1) < 0.1, "\(2 * Self.scale * extra)")
        let busiest = Self.busiestHour(of: day)
        #expect(abs(Double(busiest) / row.busiestHour - 1) < 0.03 && busiest <= 162_000, "\(busiest)")
        let recovery = (loss + 1..<CustomerFleet.periods).first {
            day.share(\.hits, in: $0..<$0 + 1) >= usual.share(\.hits, in: $0..<$0 + 1) - 0.01
        }
        #expect(recovery.map { row.recovery.contains($0 - loss) } == true, "\(String(describing: recovery))")
    }

    struct OutageRow: Sendable {
        let fault: NodeInOutage.Fault
        let rate: Double
        let nodes: Int
        let sent, openings, probes, recovery: Double
    }

    @Test(arguments: [
        OutageRow(fault: .serverError, rate: 0.029, nodes: 100, sent: 104, openings: 0, probes: 0, recovery: 0),
        OutageRow(fault: .serverError, rate: 2, nodes: 3, sent: 84.7, openings: 42.5, probes: 45.8, recovery: 93),
        OutageRow(fault: .serverError, rate: 413, nodes: 1, sent: 1750, openings: 43.5, probes: 127.5, recovery: 46),
        OutageRow(fault: .timeout, rate: 0.029, nodes: 100, sent: 29.9, openings: 20.1, probes: 24.6, recovery: 488),
        OutageRow(fault: .timeout, rate: 2, nodes: 3, sent: 117.2, openings: 35, probes: 102, recovery: 93),
        OutageRow(fault: .timeout, rate: 413, nodes: 1, sent: 172.5, openings: 35.5, probes: 103.5, recovery: 54),
    ])
    func `in an outage the breakers hold back the documented calls`(row: OutageRow) {
        let nodes = (0..<row.nodes).map { number in
            var node = NodeInOutage(number, fault: row.fault, callsPerSecond: row.rate)
            node.run()
            return node
        }
        func expect(_ property: KeyPath<NodeInOutage, Int>, _ documented: Double) {
            let mean = Double(nodes.map { $0[keyPath: property] }.reduce(0, +)) / Double(nodes.count)
            #expect(abs(mean - documented) <= 0.06 * documented, "\(property): \(mean)")
        }
        expect(\.sent, row.sent)
        expect(\.openings, row.openings)
        expect(\.probes, row.probes)
        expect(\.needlessOpenings, 0)
        #expect(nodes.allSatisfy { $0.recovery <= row.recovery })
    }
}
