// SPDX-License-Identifier: Apache-2.0

import Testing

/// The comparison of what a gateway takes for different texts of one shape.
enum CostComparison {
    private enum Limits {
        /// The factor between a text and plain text of the same length.
        static let overASCII = 4.0
        /// The factor for four times the length, which is two doublings.
        static let growth = 2.5 * 2.5
        /// A request costs about this much, whatever it contains.
        static let seconds = 0.002
        static let rounds = 3
    }

    /// Expects that the cost of a text is at most proportional to its length, and near the cost of plain text.
    /// - Parameter measure: returns the CPU seconds for one text of a length in bytes.
    static func expectLinearCost(
        of texts: [CostlyText], upTo maximumBytes: Int, measure: (CostlyText, _ bytes: Int) async throws -> Double
    ) async throws {
        func cost(_ text: CostlyText, _ bytes: Int) async throws -> Double {
            var least = Double.infinity
            for _ in 0..<Limits.rounds { least = min(least, try await measure(text, bytes)) }
            return max(least, Limits.seconds)
        }
        for text in texts {
            let plain = try await cost(text.plain, maximumBytes)
            let small = try await cost(text, maximumBytes / 4)
            let large = try await cost(text, maximumBytes)
            let figures = "\(text): \(small) s for a quarter, \(large) s, plain text \(plain) s"
            #expect(large <= plain * Limits.overASCII, "\(figures)")
            #expect(large <= small * Limits.growth, "\(figures)")
        }
    }
}
