// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import LoadTest

struct MarkLabelsTests {
    private static func labels(_ marks: [(Double, String)]) -> MarkLabels {
        MarkLabels(marks.map { (x: $0.0, text: $0.1) }, within: 50...500, letters: 12, unit: "ms")
    }

    @Test func `names that would cover each other stand in rows`() {
        let labels = Self.labels([(100, "one"), (105, "two"), (300, "three")])
        #expect(labels.labels.map(\.row) == [0, 1, 0] && labels.rows == 2)
    }

    @Test func `a name near the right end stands before its line`() {
        let label = Self.labels([(490, "kill redis")]).labels[0]
        #expect(label.isBefore && label.x == 486)
    }

    @Test func `long names are cut, and those without room are left out`() {
        let labels = Self.labels(Array(repeating: (200, "a very long name indeed"), count: 5))
        #expect(labels.labels.map(\.text) == Array(repeating: "a very long…", count: 3))
        #expect(labels.rows == MarkLabels.maximumRows)
    }

    @Test func `without marks there are no rows`() {
        #expect(Self.labels([]).rows == 0)
    }
}
