// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import LoadTest

struct FigureTextTests {
    @Test func `three digits matter`() {
        #expect(
            [0.01234, 1.234, 12.34, 123.4, 12_345.6, 0].map(\.significant) == [
                "0.0123", "1.23", "12.3", "123", "12,346", "0",
            ])
        #expect([1e-9, 1.5e15, -2.5].map(\.significant) == ["1.0e-9", "1.5e15", "-2.50"])
        #expect([Double.nan, .infinity].map(\.significant) == ["–", "–"])
    }

    @Test func `plain numbers keep their digits`() {
        #expect([60, 2.5, 1000, 0.001].map(\.plain) == ["60", "2.5", "1,000", "0.001"])
    }

    @Test func `thousands stand apart, and zero has no sign`() {
        #expect([1_234_567.891, -1234.5, -0.001].map { $0.grouped(2) } == ["1,234,567.89", "-1,234.50", "0.00"])
    }
}
