// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The trace for readers, line by line as it happens.
enum RehearsalTable {
    private static let columns: [(title: String, width: Int)] = [
        ("time", 7), ("requests", 8), ("p50 ms", 8), ("p99 ms", 8), ("asked", 5), ("failed", 6), ("breaker", 9),
        ("trips", 5), ("apple", 6), ("stale", 6), ("degraded", 8), ("local", 6), ("undecided", 9), ("rejected", 8),
        ("errors", 6),
    ]

    /// The first line.
    static var header: String { line(columns.map(\.title)) }

    /// One interval.
    static func line(_ row: RehearsalRow) -> String {
        let verdicts = row.verdicts
        return line([
            row.seconds.fixed(1) + " s", row.requests.grouped, row.p50Milliseconds?.fixed(1) ?? "-",
            row.p99Milliseconds?.fixed(1) ?? "-", row.appleAsked.grouped, row.appleFailed.grouped, row.breaker ?? "?",
            String(row.breakerTrips), verdicts.apple.grouped, verdicts.stale.grouped, verdicts.degraded.grouped,
            verdicts.local.grouped, verdicts.undecided.grouped, verdicts.rejected.grouped, row.errors.grouped,
        ])
    }

    /// What the columns mean.
    static let legend = """
        asked, failed        questions that reached Apple's servers, and those not answered as Apple answers
        breaker, trips       its state at the end of the interval, and how often it opened within
        apple                genuine, Apple says so now or said so within --max-age
        stale                genuine, Apple said so before; labelled degraded where Apple failed to say it again
        degraded             genuine, from the receipt's own signature, because Apple did not help; labelled so
        local                genuine, from the receipt's own signature, which was enough
        """

    private static func line(_ cells: [String]) -> String {
        zip(columns, cells).map { column, cell in
            String(repeating: " ", count: max(0, column.width - cell.count)) + cell
        }.joined(separator: "  ")
    }
}
