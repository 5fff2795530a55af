// SPDX-License-Identifier: Apache-2.0

internal import Resilience
internal import Synchronization

/// Random numbers that decide which answers are in a sample.
package final class SampleNumbers: Sendable {
    private let numbers: SplitMixNumbers
    private let count = Atomic<UInt64>(0)

    package init(from start: UInt64 = .random(in: .min ... .max)) { numbers = SplitMixNumbers(from: start) }

    /// Returns a number from 0 to below 1.
    @Sendable package func next() -> Double {
        let place = count.wrappingAdd(1, ordering: .relaxed).newValue
        return Double(numbers.number(at: place) >> 11) * 0x1p-53
    }
}
