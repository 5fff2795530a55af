// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Random numbers that decide which answers are in a sample: SplitMix64 (Steele, Lea and Flood, 2014). Swift's own generator
/// makes a system call for each number, which would cost every answer up to a microsecond. Not for secrets.
package final class SampleNumbers: Sendable {
    private let state: Atomic<UInt64>

    package init(from start: UInt64 = .random(in: .min ... .max)) { state = Atomic(start) }

    /// Returns a number from 0 to below 1.
    @Sendable package func next() -> Double {
        var bits = state.wrappingAdd(0x9E37_79B9_7F4A_7C15, ordering: .relaxed).newValue
        bits = (bits ^ (bits >> 30)) &* 0xBF58_476D_1CE4_E5B9
        bits = (bits ^ (bits >> 27)) &* 0x94D0_49BB_1331_11EB
        return Double((bits ^ (bits >> 31)) >> 11) * 0x1p-53
    }
}
