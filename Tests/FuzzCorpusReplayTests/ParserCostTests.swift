// SPDX-License-Identifier: Apache-2.0

import Glibc
import ReceiptFuzzTargets
import Testing

/// Every parser of outside bytes costs as much as their number says: what clients, Apple, Redis and operators send.
///
/// The measure is the CPU time of the thread, in ratios within one run. `CostTests` does the same for whole requests.
struct ParserCostTests {
    private enum Limits {
        /// The factor between a text and plain text of the same length.
        static let overASCII = 4.0
        /// The factor for four times the length: halfway from a linear cost to a quadratic one.
        static let growth = 8.0
        /// Shorter times are not told apart, in seconds.
        static let seconds = 0.002
        static let rounds = 2

        /// The lengths that are compared. The edge reads small pieces, which takes long in a debug build.
        static func lengths(for target: FuzzTarget) -> (small: Int, large: Int) {
            target == .edge ? (512, 2 << 10) : (4 << 10, 16 << 10)
        }
    }

    /// Texts that are slow to compare, to split or to parse, and the plain ones of the same shape; nil for none.
    private static let texts: [(text: String, plain: String?)] = [
        ("\u{0301}\u{0323}\u{0300}\u{0316}", "abcdefgh"), (#"\u0301\u0323"#, #"\u0061\u0062"#),
        ("com.example.shop", "abcdefgh"), (" ,;=.:&/", nil), ("[[[[[[[[", nil), (#"{"a":{"#, nil), ("99999999", nil),
        ("\r\n\t \r\n\t ", nil),
    ]

    /// Without those that take their input as changes to a receipt, or work on other threads; and without replies of Redis
    /// in single bytes: an unfinished line, of at most 4 KiB, is searched anew with each of them.
    private static let targets = FuzzTarget.allCases.filter { ![.verifier, .stores, .reply].contains($0) }

    @Test(arguments: targets)
    func `a parser's cost grows with the length of its input only`(_ target: FuzzTarget) {
        let lengths = Limits.lengths(for: target)
        for seed in FuzzSeeds.all where FuzzTarget(of: seed.input) == target {
            for (text, plain) in Self.texts {
                let large = Self.cost(seed.input, text, lengths.large)
                guard large > Limits.seconds else { continue }
                let plainCost = plain.map { Self.cost(seed.input, $0, lengths.large) } ?? .infinity
                let small = Self.cost(seed.input, text, lengths.small)
                let figures = "\(seed.name), \(text.debugDescription): \(small) s, \(large) s, plain \(plainCost) s"
                #expect(large <= plainCost * Limits.overASCII, "\(figures)")
                #expect(large <= small * Limits.growth, "\(figures)")
            }
        }
    }

    /// Returns the seconds for a seed in which the longest word is replaced by a text that is repeated up to a length.
    private static func cost(_ seed: [UInt8], _ text: String, _ bytes: Int) -> Double {
        let pattern = Array(text.utf8), word = longestWord(in: seed)
        let long = (0..<bytes / pattern.count).flatMap { _ in pattern }
        let input = seed[..<word.lowerBound] + long + seed[word.upperBound...]
        var least = Double.infinity
        for _ in 0..<Limits.rounds where least > Limits.seconds {
            let start = threadSeconds
            // The promises are for inputs of the fuzzer's length.
            try? FuzzTarget.run(Array(input))
            least = min(least, threadSeconds - start)
        }
        return max(least, Limits.seconds)
    }

    /// Returns the longest run of letters and digits behind the first byte, which chooses the target.
    private static func longestWord(in seed: [UInt8]) -> Range<Int> {
        var longest = 1..<1, start = 1
        for index in 1...max(1, seed.count) {
            let byte = index < seed.count ? seed[index] : 0
            if (0x30...0x39).contains(byte) || (0x41...0x7A).contains(byte) { continue }
            if index - start > longest.count { longest = start..<min(index, seed.count) }
            start = index + 1
        }
        return longest
    }

    private static var threadSeconds: Double {
        var time = timespec()
        // SAFETY: the pointer is valid for the call, which fills the structure.
        _ = unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
