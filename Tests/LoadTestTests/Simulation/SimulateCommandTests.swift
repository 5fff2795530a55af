// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Testing

@testable import AppStore
@testable import Gateway
@testable import LoadTest

/// The options of `simulate`, and its settings compared with the gateway's.
struct SimulateCommandTests {
    @Test func `options reach the plan`() throws {
        let plan = try SimulateCommand.parse([
            "--nodes", "100", "--hours", "2", "--rate", "10k", "--customers", "5000", "--shards", "3",
            "--loss-start", "1h", "--loss", "5m", "--outage", "10m", "--seed", "7",
        ]).plan
        #expect(plan.nodes == 100 && plan.seconds == 7200 && plan.rate == 10_000 && plan.customers == 5000)
        #expect(plan.shards == 3 && plan.loss == 3600..<3900 && plan.outage == 600 && plan.seed == 7)
        #expect(try SimulateCommand.parse([]).plan == SimulationPlan())
    }

    @Test(arguments: [
        ["--nodes", "0"], ["--nodes", "1001"], ["--hours", "0"], ["--rate", "max"], ["--customers", "10"],
        ["--shards", "0"], ["--loss", "1s"], ["--loss-start", "24h"], ["--outage", "2d"],
    ])
    func `a fleet, a time or a loss out of range is refused`(options: [String]) {
        #expect(throws: (any Error).self) { try SimulateCommand.parse(options) }
    }

    @Test func `the settings are the gateway's`() {
        let freshness = FreshnessPolicy()
        #expect(freshness.active.seconds == CustomerSimulation.Settings.active)
        #expect(freshness.longExpired.seconds == CustomerSimulation.Settings.longExpired)
        #expect(freshness.withoutSubscription.seconds == CustomerSimulation.Settings.withoutSubscription)
        #expect(freshness.near.seconds == CustomerSimulation.Settings.near)
        let budget = ServerAPIBudget.policy("budget", 50 * 3600 * ServerAPIBudget().share)
        #expect(SimulatedBudget.policy == budget)
        #expect(SimulatedBudget.callsPerHour == Int(50 * 3600 * ServerAPIBudget().share))
    }
}
