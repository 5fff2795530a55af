// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// All simulations of a plan.
struct FleetSimulation: Sendable {
    let plan: SimulationPlan

    /// The number of simulations.
    var count: Int { limitCases.count + LostShard.allCases.count + plan.outages(callsOfApp: 1).count }

    private var limitCases: [LimitCase] {
        LimitCase.day(seconds: plan.seconds)
            + LimitCase.losses(seconds: plan.loss.upperBound - plan.loss.lowerBound)
    }

    /// Runs all.
    /// - Parameter progress: receives the number of simulations done.
    func run(_ progress: (Int) -> Void) -> SimulationOutcome {
        var done = 0
        func step<Value>(_ value: Value) -> Value {
            done += 1
            progress(done)
            return value
        }
        let limits = limitCases.map { step(LimitSimulation(nodes: plan.nodes, seed: plan.seed).run($0)) }
        let runs = LostShard.allCases.map { lost in
            var simulation = CustomerSimulation(plan, losing: lost)
            return step((lost: lost, outcome: simulation.run()))
        }
        let usual = runs[0].outcome
        let losses = runs.dropFirst().map {
            LossEffects(of: $0.outcome, losing: $0.lost, in: plan.loss, comparedWith: usual)
        }
        let outages = plan.outages(callsOfApp: Double(usual.callCount) / plan.seconds)
            .map { step(OutageSimulation($0, seed: plan.seed).run()) }
        return SimulationOutcome(limits: limits, customers: usual, losses: losses, outages: outages)
    }
}

/// The outcomes of all simulations of a plan.
struct SimulationOutcome: Hashable, Sendable {
    var limits: [LimitOutcome]
    /// Of one app, without a loss.
    var customers: CustomerOutcome
    var losses: [LossEffects]
    var outages: [OutageOutcome]
}
