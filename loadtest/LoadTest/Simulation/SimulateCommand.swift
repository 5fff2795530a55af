// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser

struct SimulateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "simulate",
        abstract: "Simulate a fleet of up to 1,000 nodes for a day, with the gateway's own rules.",
        discussion: """
            Decides with the token buckets, leases, shares, circuit breakers, concurrency limits and retry budgets of \
            the gateway, in a time of its own: a day takes minutes. It needs no server, and opens no connection. It \
            reports

              limits    what each admits in a day, its worst window, and the same while a
                        shard of Redis is lost
              Redis     commands for each request, and at the peak for each shard
              Apple     calls, the busiest second and hour, and the budget
              a loss    of one shard: lost answers, extra calls, until hits return
              outages   of Apple: openings of the circuit breakers, and probes

            A request rate is too high to simulate each request. The report names what was simulated instead. The \
            busiest moment, at noon, has 1.8 times the mean. The same options give the same report.

            Examples:

              receipt-loadtest simulate
              receipt-loadtest simulate --nodes 100 --rate 100k --shards 3
              receipt-loadtest simulate --loss-start 8h --loss 30m --format json

            Exit status: 0 if all limits and the budget were kept, 99 if not, 64 for wrong usage.
            """)

    @Option(help: .value("count", "Nodes of the fleet."))
    var nodes = 1000

    @Option(help: .value("hours", "The simulated time."))
    var hours = 24.0

    @Option(help: .value("rate", "Requests per second of the whole fleet, on average."))
    var rate = RateOption.perSecond(1_000_000)

    @Option(help: .value("count", "Customers of the app whose requests are simulated."))
    var customers = 500_000

    @Option(help: .value("count", "Masters of the Redis cluster."))
    var shards = 10

    @Option(help: .value("time", "The time at which one shard is lost."))
    var lossStart = TimeSpan(seconds: 43_200)

    @Option(help: .value("time", "The time until it is back, empty."))
    var loss = TimeSpan(seconds: 600)

    @Option(help: .value("time", "The length of the outage of Apple."))
    var outage = TimeSpan(seconds: 1800)

    @Option(help: .value("number", "All random numbers follow from this number."))
    var seed: UInt64 = 1

    @Option(help: "How to print the results.")
    var format = ReportFormat.text

    func validate() throws {
        let limits = SimulationPlan.Limits.self
        try check(limits.nodes.contains(nodes), "--nodes takes from 1 to \(limits.nodes.upperBound.grouped).")
        try check(limits.hours.contains(hours), "--hours takes from 1 to 168.")
        try check(rate != .max, "--rate takes a number.")
        try check(limits.customers.contains(customers), "--customers takes from 100 to 20,000,000.")
        try check(limits.shards.contains(shards), "--shards takes from 1 to 1,000.")
        try check(loss.seconds >= 60 && lossStart.seconds >= 60, "--loss and --loss-start take at least 1m.")
        try check(plan.loss.upperBound <= plan.seconds, "The loss ends after the simulated time: see --loss-start.")
        try check((60...86_400).contains(outage.seconds), "--outage takes from 1m to 24h.")
    }

    func run() throws {
        ProgressStream.warnOfDebugging()
        let simulation = FleetSimulation(plan: plan)
        let progress = ProgressLine(unit: "simulations", total: simulation.count)
        let report = SimulationReport(simulation.run { progress.update(done: $0) }, plan)
        progress.finish()
        StandardOutput.write((format == .json ? try JSONOutput.of(report) : report.text) + "\n")
        if !report.passed { throw ExitCode(99) }
    }

    var plan: SimulationPlan {
        var plan = SimulationPlan()
        (plan.nodes, plan.seconds, plan.customers) = (nodes, hours * 3600, customers)
        if case .perSecond(let rate) = rate { plan.rate = rate }
        (plan.shards, plan.seed, plan.outage) = (shards, seed, outage.seconds)
        plan.loss = lossStart.seconds..<(lossStart.seconds + loss.seconds)
        return plan
    }
}
