// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

extension Bench {
    /// Answers that stand in Redis, beside redis-benchmark doing the same. Gateway, Redis and load share all cores, as
    /// redis-benchmark and Redis do.
    func measureShared() async throws {
        let fleet = FleetPlan(
            duration: plan.seconds, nodes: 1, connections: plan.connections, receipts: min(500, plan.keys))
        let hits = try await FleetStage.with(fleet, gatewayPath: gatewayPath) { stage in
            var hits: [SharedHits] = []
            for _ in 0..<plan.runs {
                hits.append(try await FleetBench(stage: stage).sharedHits(.unlimited))
                passed(3 * plan.seconds + 2)
            }
            return hits
        }
        report.figures.append(
            BenchFigure(
                "shared-cache hit over Redis / redis-benchmark doing the same", Rates(hits.map(\.ratio)).median,
                "ratio",
                .atLeast(0.6)))
        let pipeline = Rates(hits.map { Double($0.pipeline) }).median
        report.measurements += [
            .init("shared-cache hits", Rates(hits.map(\.requestsPerSecond)).median, "/s"),
            .init("redis-benchmark with the same commands", Rates(hits.map(\.redisBenchmarkPerSecond)).median, "/s"),
            .init("commands that Redis read at once", pipeline, ""),
        ]
    }
}
