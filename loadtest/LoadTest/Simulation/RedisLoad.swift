// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The commands that a fleet sends to Redis.
struct RedisLoad: Hashable, Sendable, Encodable {
    /// Commands for each request: look-ups and refreshes, Apple's budget, and one token bucket of the client.
    let cachePerRequest: Double
    let budgetPerRequest: Double
    let bucketPerRequest: Double
    /// Commands in the whole time.
    let total: Double
    /// Commands per second in the busiest minute: of one shard of many, of the shard whose key every look-up reads, and
    /// of the shard with the budgets of all apps.
    let peakPerShard: Double
    let peakOfPurgesShard: Double
    let peakOfBudgetShard: Double
    /// Names of changed keys per second in the busiest minute that one node receives, and that one shard sends: Redis
    /// announces each change of a lease or an answer to every node (`CLIENT TRACKING` with `BCAST`).
    let announcementsToNode: Double
    let announcementsOfShard: Double

    /// The changed keys of a refresh: the lease twice, and the answer.
    private static let changedKeys = 3.0

    var perRequest: Double { cachePerRequest + budgetPerRequest + bucketPerRequest }

    /// - Parameter bucketPerRequest: the script calls for a client's token bucket, measured.
    init(_ plan: SimulationPlan, _ customers: CustomerOutcome, bucketPerRequest: Double) {
        let requests = Double(max(1, customers.requestCount))
        let refreshed = customers.share(of: .refreshed), looked = 1 - customers.share(of: .near)
        let peak = customers.peakRequestsPerSecond * plan.apps
        (cachePerRequest, budgetPerRequest) = (
            Double(customers.cacheCommands) / requests, Double(customers.budgetCommands) / requests
        )
        self.bucketPerRequest = bucketPerRequest
        total = (cachePerRequest + budgetPerRequest + bucketPerRequest) * plan.rate * plan.seconds
        // The head is read by each look-up, and by the second one of a refresh.
        let heads = looked + refreshed
        peakPerShard = peak * (cachePerRequest - heads + bucketPerRequest) / Double(plan.shards)
        peakOfPurgesShard = peakPerShard + peak * heads
        peakOfBudgetShard = peakPerShard + peak * budgetPerRequest
        announcementsToNode = peak * refreshed * Self.changedKeys
        announcementsOfShard = announcementsToNode * Double(plan.nodes) / Double(plan.shards)
    }
}
