// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import AppleSimulator

/// An outage of Apple under load.
struct DeferredPlan: Hashable, Sendable {
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

    var gatewayPath: String
    var jobs: Int
    var outageSeconds: Double
    /// Requests to Apple per second.
    var budget: Int
    /// True if gateways are killed in turn while jobs wait.
    var kills = false

    var gateways: Int { kills ? 2 : 1 }

    /// The time after Apple's return within which so many waiting jobs must be done.
    func boundSeconds(waiting: Int) -> Double {
        Limits.returnSeconds + Double(waiting) / Double(budget) + (kills ? Limits.killSeconds : 0)
    }

    /// The time after Apple's return at which a run ends whatever still waits.
    func limitSeconds(waiting: Int) -> Double { Limits.patience * boundSeconds(waiting: waiting) }

    /// The distance between jobs whose results are read.
    var sampleStride: Int { max(1, jobs / Limits.checkedJobs) }

    /// The settings of the gateways. All jobs are of one client, so its limits are the run's limits.
    var settings: [String: String] {
        let size = "\(max(1024, jobs * Limits.kibibytesPerJob / 1024))MiB"
        return [
            "GATEWAY_APPLE_MAX_REQUESTS_PER_SECOND": "\(budget)", "GATEWAY_JOBS_MAX_COUNT": "\(Limits.count)",
            "GATEWAY_JOBS_MAX_BYTES": size, "GATEWAY_JOBS_MAX_TOTAL_BYTES": size,
        ]
    }

    static func outage() throws(ScenarioError) -> Scenario {
        try Scenario(yaml: "faults: [{fault: {http_status: 503}}]")
    }
}
