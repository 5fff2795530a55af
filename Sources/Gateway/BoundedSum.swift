// SPDX-License-Identifier: Apache-2.0

extension FixedWidthInteger {
    /// Returns the sum of two counts; the largest number if the sum is larger. Counts from a store may be any numbers.
    package func addingWithoutOverflow(_ other: Self) -> Self {
        let (sum, overflows) = addingReportingOverflow(other)
        return overflows ? .max : sum
    }
}
