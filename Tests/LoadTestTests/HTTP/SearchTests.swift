// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import LoadTest

struct SearchTests {
    /// Tries rates against a server that holds up to `capacity`.
    private static func search(
        _ capacity: Double, from first: Double = 500, to maximum: Double = 1e6, precision: Double = 0.05,
        steps: Int = 30
    ) -> (search: RateSearch, tried: [Double]) {
        var search = RateSearch(from: first, to: maximum, precision: precision, maximumSteps: steps)
        var tried: [Double] = []
        while let rate = search.next {
            tried.append(rate)
            search.tried(rate, passed: rate <= capacity)
        }
        return (search, tried)
    }

    @Test(arguments: [1.0, 3, 77, 499, 500, 501, 1000, 7777, 123_456, 999_999])
    func `the rate is found to the wanted precision, and no rate is tried twice`(capacity: Double) throws {
        let (search, tried) = Self.search(capacity)
        let passed = try #require(search.passed), failed = try #require(search.failed)
        #expect(passed <= capacity && failed > capacity)
        // Whole rates are near enough.
        #expect(failed - passed <= max(0.05 * passed, 1))
        #expect(Set(tried).count == tried.count)
    }

    @Test func `it doubles until something fails, then halves the gap`() {
        #expect(Self.search(3000, precision: 0.1).tried == [500, 1000, 2000, 4000, 3000, 3500, 3250])
    }

    @Test func `where the first fails it goes down`() {
        #expect(Self.search(100, precision: 0.4).tried == [500, 250, 125, 63, 94])
    }

    @Test func `no rate beyond the highest is tried`() {
        let (search, tried) = Self.search(.infinity, to: 3000)
        #expect(tried == [500, 1000, 2000, 3000] && search.passed == 3000 && search.failed == nil)
    }

    @Test func `nothing passes where nothing can`() {
        let (search, tried) = Self.search(0, from: 4)
        #expect(tried == [4, 2, 1] && search.passed == nil && search.next == nil)
    }

    @Test func `no more rates are tried than may be`() {
        let (search, tried) = Self.search(7777, precision: 0.001, steps: 6)
        #expect(tried.count == 6 && search.next == nil)
    }

    @Test func `the number of steps left is estimated`() {
        var search = RateSearch(from: 1000, to: 1e6, precision: 0.05, maximumSteps: 30)
        search.tried(1000, passed: true)
        #expect(search.remainingSteps == nil)
        search.tried(2000, passed: false)
        #expect(search.remainingSteps == 5)
    }

    @Test func `objectives are thresholds`() throws {
        let objective = try #require(ObjectiveOption(argument: "p99<25ms,errors<0.1%"))
        // A server that rejects nearly all at once is fast, and makes no errors.
        #expect(objective.thresholds.map(\.expression) == ["p99<25ms", "errors<0.1%", "shed<=1%"])
        let own = try #require(ObjectiveOption(argument: "p99<25ms,shed<5%"))
        #expect(own.thresholds.map(\.expression) == ["p99<25ms", "shed<5%"])
        for text in ["", "p99<25ms,", "p99", "p99<25ms,questions<=1"] {
            #expect(ObjectiveOption(argument: text) == nil, "\(text)")
        }
    }
}
