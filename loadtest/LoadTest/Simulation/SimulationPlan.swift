// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Resilience

/// The fleet that a simulation models, and the time.
struct SimulationPlan: Hashable, Sendable {
    enum Limits {
        /// The shares of a limit are exact for so many nodes at most (`FairShare.Limits`).
        static let nodes = FairShare.Limits.nodes
        static let hours = 1.0...168.0
        static let customers = 100...20_000_000
        static let shards = 1...1000
        /// The commands per second that one shard of Redis is counted for: an assumption.
        static let commandsPerShard = 100_000.0
        /// The events of an outage that are simulated for one case, which bounds its nodes.
        static let outageEvents = 1_000_000.0
        /// The time before and after an outage, in seconds.
        static let outageMargin = 600.0
    }

    var nodes = 1000
    /// The simulated time in seconds.
    var seconds = 86_400.0
    /// Requests per second of the whole fleet, the mean of the day.
    var rate = 1_000_000.0
    /// The customers of the app whose requests are simulated.
    var customers = 500_000
    /// The masters of the Redis cluster.
    var shards = 10
    /// The time in which one master is lost, in seconds.
    var loss = 43_200.0..<43_800.0
    /// The length of Apple's outage in seconds.
    var outage = 1800.0
    var seed: UInt64 = 1

    /// The number of apps like the simulated app that make up the rate.
    var apps: Double { rate * 86_400 / (Double(customers) * CustomerTraffic.requestsPerDay) }

    /// Returns the outages of Apple to simulate: for one app alone, for a call each half second and node, and for all
    /// apps.
    /// - Parameter callsOfApp: the calls to Apple per second for one app.
    func outages(callsOfApp: Double) -> [OutageCase] {
        let margin = Limits.outageMargin, perNode = max(1e-6, callsOfApp / Double(nodes))
        let rates = Set([perNode, 2, max(perNode, perNode * apps)]).sorted()
        return OutageCase.Fault.allCases.flatMap { fault in
            rates.map { rate in
                let affordable = Limits.outageEvents / (rate * (outage + 2 * margin))
                return OutageCase(
                    fault: fault, callsPerSecond: rate, nodes: min(nodes, max(2, Int(affordable))),
                    outage: margin..<(margin + outage), span: 2 * margin + outage)
            }
        }
    }
}
