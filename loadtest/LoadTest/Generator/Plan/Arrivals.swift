// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Glibc
internal import ReceiptForge

/// How requests follow each other.
enum ArrivalPattern: String, CaseIterable, Sendable, ExpressibleByArgument {
    /// Evenly.
    case constant
    /// By chance, as from many customers who do not know of each other.
    case poisson
}

/// When each request of one worker is due. All workers together make the curve.
struct Arrivals: Sendable {
    private var cursor: RateCursor
    private let pattern: ArrivalPattern
    private let workers: Int
    private var generator: SplitMix64
    private var position: Double
    private var remaining: Int

    /// - Parameters:
    ///   - limit: how many requests all workers together send at most.
    ///   - seed: decides about chance, together with the worker's number.
    init(_ curve: RateCurve, _ pattern: ArrivalPattern, worker: Int, of workers: Int, limit: Int, seed: UInt64) {
        cursor = RateCursor(curve)
        self.pattern = pattern
        self.workers = workers
        generator = SplitMix64(seed: seed, purpose: "arrivals of worker \(worker)")
        position = Double(worker)
        remaining = limit / workers + (worker < limit % workers ? 1 : 0)
        if pattern == .poisson { position = step() }
    }

    /// When the next is due, in seconds from the curve's beginning; nil if there is none.
    mutating func next() -> Double? {
        guard remaining > 0, let time = cursor.time(ofCount: position) else { return nil }
        remaining -= 1
        position += step()
        return time
    }

    /// The distance to the next, in requests of all workers. Processes of Poisson add up to one.
    private mutating func step() -> Double {
        guard pattern == .poisson else { return Double(workers) }
        return -log(1 - generator.fraction()) * Double(workers)
    }
}

extension SplitMix64 {
    /// A number from 0 to below 1, of 53 random bits.
    mutating func fraction() -> Double { Double(next() >> 11) * 0x1p-53 }
}
