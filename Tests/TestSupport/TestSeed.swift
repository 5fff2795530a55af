// SPDX-License-Identifier: Apache-2.0

internal import Foundation

/// The seeds of random tests. A run can be repeated: the same `TEST_SEED` gives the same numbers.
public enum TestSeed {
    /// The first seed: `TEST_SEED`, which `.ci/test` prints; 0 without it. `make seeds` gives a new one to each run.
    static let first = UInt64(ProcessInfo.processInfo.environment["TEST_SEED"] ?? "") ?? 0

    /// True for the seed of CI. How much a random history exercises is known for its seeds only; what must hold, holds
    /// for all.
    public static let isOfCI = first == 0

    /// Returns a seed of this run for the test that always passes `number`.
    public static func number(_ number: UInt64) -> UInt64 { first &+ number }

    /// Returns seeds of this run, for the arguments of a test.
    public static func numbers(_ count: Int) -> [UInt64] { (0..<UInt64(count)).map(number) }
}
