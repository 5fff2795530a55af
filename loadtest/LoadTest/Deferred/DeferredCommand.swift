// SPDX-License-Identifier: Apache-2.0

internal import AppleSimulator
internal import ArgumentParser

struct DeferredCommand: LongRunCommand {
    static let configuration = CommandConfiguration(
        commandName: "deferred",
        abstract: "Measure deferred verifications while Apple is away, and after its return.",
        usage: "receipt-loadtest deferred [<options>]",
        discussion: """
            Starts a gateway with Redis and a simulated Apple that fails, sends distinct receipts with 'Prefer: \
            respond-async', lets Apple return, and waits until no job waits. Then it compares the run with what the \
            gateway promises: every request is answered 200 or 202, all jobs are done within two minutes plus the \
            number of jobs divided by the budget, and Apple never gets more requests than the budget allows. It reads \
            the results of 500 jobs.

            All jobs are of one client, so gateway.jobs.max_count and the limits in bytes are raised for the run.

            Examples:

              receipt-loadtest deferred
              receipt-loadtest deferred --jobs 100000 --budget 200 --format json
              receipt-loadtest deferred --outage 5m --kill

            redis-server and, with --kill, haproxy must be installed (.ci/deps bench). Load, gateways and the \
            simulated Apple share this machine.

            Exit status: 0 if all promises were kept, 99 if not, 64 for wrong usage, 130 after ^C.
            """)

    @OptionGroup var gateway: GatewayProgram

    @Option(help: .value("count", "Requests, each with a receipt of its own."))
    var jobs = 2000

    @Option(help: .value("time", "The time until Apple returns, or longer until all requests are sent."))
    var outage = TimeSpan(seconds: 30)

    @Option(help: .value("rate", "The budget: requests to Apple per second (gateway.apple.max_requests_per_second)."))
    var budget = 50

    @Flag(help: "Run two gateways behind HAProxy, and kill one of them every 15 seconds while jobs wait.")
    var kill = false

    @Option(help: "How to print the results.")
    var format = ReportFormat.text

    func validate() throws {
        try check("--jobs", jobs, in: 1...1_000_000)
        try check((1...3600).contains(outage.seconds), "--outage takes from 1s to 1h.")
        try check("--budget", budget, in: 1...10_000)
    }

    func measure() async throws -> Int32 { try await DeferredRun(plan: self).run().written(as: format) }
}

// MARK: - The plan

extension DeferredCommand {
    private enum Limits {
        /// The promise: all jobs are done so long after Apple's return, plus the time that the budget needs.
        static let returnSeconds = 120.0
        /// The time by which a kill may delay a job: another gateway takes it when the lease of the dead gateway ends.
        static let killSeconds = 60.0
        /// The share of the bound after which a run gives up.
        static let patience = 1.5
        /// Far more than the evidence of a job and its answer.
        static let kibibytesPerJob = 64
        /// The gateway's own maximum of `gateway.jobs.max_count`.
        static let count = 1_000_000
        /// The jobs whose results are read at the end.
        static let checkedJobs = 500
    }

    /// The time after Apple's return within which so many waiting jobs must be done.
    func boundSeconds(waiting: Int) -> Double {
        Limits.returnSeconds + Double(waiting) / Double(budget) + (kill ? Limits.killSeconds : 0)
    }

    /// The time after Apple's return at which a run ends whatever still waits.
    func limitSeconds(waiting: Int) -> Double { Limits.patience * boundSeconds(waiting: waiting) }

    /// The distance between jobs whose results are read.
    var sampleStride: Int { max(1, jobs / Limits.checkedJobs) }

    /// The fleet while Apple is away. All jobs are of one client, so its limits are the run's limits.
    var fleet: FleetShape {
        get throws(ScenarioError) {
            let size = "\(max(1024, jobs * Limits.kibibytesPerJob / 1024))MiB"
            return FleetShape(
                gateways: kill ? 2 : 1, hasRedis: true, appendFsync: .everysec, hasBalancer: kill,
                apple: try Scenario(yaml: "faults: [{fault: {http_status: 503}}]"),
                settings: [
                    "GATEWAY_APPLE_MAX_REQUESTS_PER_SECOND": "\(budget)", "GATEWAY_JOBS_MAX_COUNT": "\(Limits.count)",
                    "GATEWAY_JOBS_MAX_BYTES": size, "GATEWAY_JOBS_MAX_TOTAL_BYTES": size,
                ],
                limits: "")
        }
    }
}
