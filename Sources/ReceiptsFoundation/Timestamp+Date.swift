// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif
public import Receipts

// A module of its own: `Receipts` imports no Foundation, and programs without Foundation need not link it.

extension Date {
    /// The same point in time.
    public init(_ timestamp: Timestamp) {
        self.init(timeIntervalSince1970: Double(timestamp.millisecondsSince1970) / 1000)
    }
}

extension Timestamp {
    /// The same point in time, rounded to the nearest millisecond.
    ///
    /// Dates beyond 64 bits of milliseconds become the first or the last `Timestamp`; a date that is no number becomes
    /// the first.
    public init(_ date: Date) {
        let milliseconds = (date.timeIntervalSince1970 * 1000).rounded()
        // Rounded down a `Timestamp` would not come back as it was: a `Date` holds no exact thousandths.
        self.init(millisecondsSince1970: Int64(exactly: milliseconds) ?? (milliseconds > 0 ? .max : .min))
    }
}
