// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// How often each of a number of keys is asked for: the k-th in proportion to 1 / k to the power of an exponent (Zipf's
/// law at 1), all alike at 0.
struct KeyPopularity: Sendable {
    let keys: Int
    /// The share of all keys up to each; empty where all are alike.
    private let cumulated: [Double]

    /// - Parameter exponent: 0 or more.
    init(keys: Int, exponent: Double) {
        self.keys = keys
        guard exponent > 0 else {
            cumulated = []
            return
        }
        var sum = 0.0
        let sums = (1...keys).map { key in
            sum += pow(Double(key), -exponent)
            return sum
        }
        cumulated = sums.map { $0 / sum }
    }

    /// The key that a number from 0 to below 1 falls on, counted from 0.
    func key(at fraction: Double) -> Int {
        guard !cumulated.isEmpty else { return min(keys - 1, Int(fraction * Double(keys))) }
        var low = 0, high = keys - 1
        while low < high {
            let middle = (low + high) / 2
            if fraction < cumulated[middle] { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
