// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// Mints, checks and measures what a plan asks for.
struct VerifyBenchmark {
    let plan: VerifyPlan

    /// - Parameter progress: called after each turn with the number of turns taken so far.
    func run(progress: (_ turns: Int) -> Void = { _ in }) throws -> VerifyReport {
        let bench = try TestBench(seed: plan.seed)
        var turns = 0
        let cases = try plan.purchases.flatMap { purchases in
            try measure(purchases: purchases, on: bench) {
                turns += 1
                progress(turns)
            }
        }
        return VerifyReport(cases: cases)
    }

    private func measure(purchases: Int, on bench: TestBench, afterEachTurn: () -> Void) throws -> [VerifyCase] {
        let samples = try SampleReceipts(
            count: plan.receipts, purchases: purchases, signedBy: bench.pki, seed: plan.seed)
        try bench.checkAcceptance(of: samples)
        let measurements = try Slice(bench: bench, samples: samples, duration: plan.slice)
            .measure(plan.entrants, rounds: plan.rounds, afterEachTurn: afterEachTurn)
        return plan.threads.flatMap { threads in
            ChainState.allCases.map { chain in VerifyCase(samples, measurements, threads: threads, chain: chain) }
        }
    }
}
