// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif
public import Receipts

// A separate module: `Receipts` imports no Foundation, and programs without Foundation need not link it.

extension Date {
    /// Creates a date at the same point in time.
    public init(_ timestamp: Timestamp) {
        self.init(timeIntervalSince1970: Double(timestamp.millisecondsSince1970) / 1000)
    }
}

extension Timestamp {
    /// Creates a timestamp at the same point in time, rounded to the nearest millisecond.
    ///
    /// Dates beyond the range of `Timestamp` become its first or last one; NaN becomes the first.
    public init(_ date: Date) {
        let milliseconds = (date.timeIntervalSince1970 * 1000).rounded()
        // Rounding down would change a `Timestamp` on its way back: a `Date` holds no exact thousandths.
        self.init(millisecondsSince1970: Int64(exactly: milliseconds) ?? (milliseconds > 0 ? .max : .min))
    }
}
