// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ReceiptForge

/// The random draws of loads and simulations: the same seed gives the same run.
extension SplitMix64 {
    /// Returns a whole number from 0 to below `count`.
    mutating func index(below count: Int) -> Int { min(count - 1, Int(fraction() * Double(count))) }

    /// Returns the time to the next of independent events, in the unit of `mean`.
    mutating func gap(mean: Double) -> Double { -log(1 - fraction()) * mean }

    /// Returns a whole number from 0 to below `count`; the k-th is drawn about 1/k as often as the first (Zipf).
    mutating func unevenIndex(below count: Int) -> Int {
        min(count - 1, Int(pow(Double(count + 1), fraction())) - 1)
    }
}
