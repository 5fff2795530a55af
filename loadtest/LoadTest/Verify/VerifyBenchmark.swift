// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import NIOPosix
internal import ReceiptForge

struct VerifyPlan: Hashable, Sendable {
    var evidence = ForgedEvidenceKind.receipt
    var purchases = [1, 3, 9, 187]
    var threads = [1]
    var duration = Duration.seconds(1)
    var receipts = 64
    /// The origin of authority and receipts.
    var seed: UInt64 = 1

    /// The number of turns of each implementation. Never fewer than nine, so that the median stands on something.
    var rounds: Int { max(9, Int(duration / .milliseconds(80))) }

    var slice: Duration { duration / rounds }

    var entrants: [Entrant] {
        threads.flatMap { threads in evidence.implementations.map { Entrant(implementation: $0, threads: threads) } }
    }

    var turns: Int { purchases.count * entrants.count * rounds }
}

struct Entrant: Hashable, Sendable {
    let implementation: Implementation
    let threads: Int

    static let floor = Entrant(implementation: .floor, threads: 1)
}

extension VerifyPlan {
    /// - Parameter progress: called after each turn with the number of turns taken so far.
    func run(progress: (_ turns: Int) -> Void = { _ in }) throws -> VerifyReport {
        let bench = try TestBench(SampleAuthority(evidence, seed: seed))
        var turns = 0
        let cases = try purchases.flatMap { purchases in
            try measure(purchases: purchases, on: bench) {
                turns += 1
                progress(turns)
            }
        }
        return VerifyReport(cases: cases)
    }

    private func measure(purchases: Int, on bench: TestBench, afterEachTurn: () -> Void) throws -> [VerifyCase] {
        let samples = try SampleReceipts(
            count: receipts, purchases: purchases, signedBy: bench.authority, seed: seed)
        try bench.checkAcceptance(of: samples)
        let measurements = try Slice(bench: bench, samples: samples, duration: slice)
            .measure(entrants, rounds: rounds, afterEachTurn: afterEachTurn)
        return threads.flatMap { threads in
            [.warm, .cold].map { chain in VerifyCase(samples, measurements, threads: threads, chain: chain) }
        }
    }
}

/// The rates of one entrant, round by round, in receipts per second.
typealias Rates = [Double]

extension [Double] {
    /// The middle rate, or the mean of the two in the middle: unmoved by turns that the machine spent on other work; 0
    /// for none.
    var median: Double {
        let sorted = sorted()
        guard let last = sorted.indices.last else { return 0 }
        return (sorted[last / 2] + sorted[(last + 1) / 2]) / 2
    }

    /// Returns the median of the ratios within each round: the medians of two entrants may stem from different rounds.
    func ratio(to other: [Double]) -> Double { ratios(to: other).median }

    func ratios(to other: [Double]) -> [Double] { zip(self, other).map { $0 / $1 } }
}

/// The rates of all entrants for receipts of one size.
typealias Measurements = [Entrant: Rates]

struct Slice: Sendable {
    let bench: TestBench
    let samples: SampleReceipts
    let duration: Duration

    /// Lets the entrants take turns.
    ///
    /// Turns are short, so that drift of the machine affects all alike; and each round begins with another entrant, so that
    /// none always follows the same neighbour.
    func measure(_ entrants: [Entrant], rounds: Int, afterEachTurn: () -> Void) throws -> Measurements {
        var measurements: Measurements = [:]
        for round in 0..<rounds {
            for position in entrants.indices {
                let entrant = entrants[(position + round) % entrants.count]
                measurements[entrant, default: Rates()].append(try receiptsPerSecond(of: entrant))
                afterEachTurn()
            }
        }
        return measurements
    }

    func receiptsPerSecond(of entrant: Entrant) throws -> Double {
        let rates = try Threads(count: entrant.threads).run { thread in
            // Each thread begins elsewhere, so that two do not pull at one receipt.
            try receiptsPerSecond(of: entrant.implementation, from: samples.all.count * thread / entrant.threads)
        }
        return rates.reduce(0, +)
    }

    private func receiptsPerSecond(of implementation: Implementation, from offset: Int) throws -> Double {
        let worker = bench.worker(for: implementation)
        guard let (count, elapsed) = turn(of: worker, from: offset) else {
            throw RefusedReceipt(implementation: implementation, purchases: samples.purchases)
        }
        return Double(count) / elapsed.seconds
    }

    /// Works for the length of the slice; nil if a receipt was rejected.
    private func turn(
        of worker: (SampleReceipt) -> Bool, from offset: Int
    ) -> (count: Int, elapsed: Duration)? {
        // Contexts are filled before the clock starts.
        guard worker(samples.all[offset]) else { return nil }
        let clock = ContinuousClock(), start = clock.now
        var count = 0, elapsed = Duration.zero
        while elapsed < duration || count == 0 {
            guard worker(samples.all[(offset + count) % samples.all.count]) else { return nil }
            count += 1
            elapsed = clock.now - start
        }
        return (count, elapsed)
    }
}

/// A number of threads that do the same work at the same time.
///
/// The threads of Swift's concurrency are shared and as many as the cores; a measurement needs an exact number, and
/// blocks them.
struct Threads {
    let count: Int

    /// Runs `body` on each thread, with the thread's number from 0, and returns all results in the threads' order.
    func run<Value: Sendable>(_ body: @escaping @Sendable (_ thread: Int) throws -> Value) throws -> [Value] {
        let threads = NIOThreadPool(numberOfThreads: count)
        threads.start()
        defer { try? threads.syncShutdownGracefully() }
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let results = (0..<count).map { thread in threads.runIfActive(eventLoop: loop) { try body(thread) } }
        return try results.map { try $0.wait() }
    }
}
