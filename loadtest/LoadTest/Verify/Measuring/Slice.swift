// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// One turn of one entrant.
struct Slice: Sendable {
    let bench: TestBench
    let samples: SampleReceipts
    let duration: Duration

    /// Receipts per second of all threads together.
    func receiptsPerSecond(of entrant: Entrant) throws -> Double {
        let rates = try Threads(count: entrant.threads).run { thread in
            // Each thread begins elsewhere, so that two do not pull at one receipt.
            try receiptsPerSecond(of: entrant.contender, from: samples.all.count * thread / entrant.threads)
        }
        return rates.reduce(0, +)
    }

    private func receiptsPerSecond(of contender: Contender, from offset: Int) throws -> Double {
        let worker = bench.worker(for: contender)
        guard let (count, elapsed) = turn(of: worker, from: offset) else {
            throw RefusedReceipt(contender: contender, purchases: samples.purchases)
        }
        return Double(count) / elapsed.seconds
    }

    /// Works for the length of the slice; nil if a receipt was refused.
    private func turn(of worker: some ContenderWorker, from offset: Int) -> (count: Int, elapsed: Duration)? {
        // Contexts are filled before the clock starts.
        guard worker.accepts(samples.all[offset]) else { return nil }
        let clock = ContinuousClock(), start = clock.now
        var count = 0, elapsed = Duration.zero
        while elapsed < duration || count == 0 {
            guard worker.accepts(samples.all[(offset + count) % samples.all.count]) else { return nil }
            count += 1
            elapsed = clock.now - start
        }
        return (count, elapsed)
    }
}
