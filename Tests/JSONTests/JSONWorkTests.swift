// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import JSON

/// The work of reading a text, counted in steps and not in time.
@Suite("The work of reading JSON")
struct JSONWorkTests {
    /// The maximum number of steps for each byte.
    private static let mostStepsPerByte = 1.05

    private static let pieces = [
        "0", "-1.5e+3", "true", "null", #""""#, #""a""#, #""\n""#, #""\u00e9""#, #""é""#, #""0123456789abcdef""#, "[]",
        "{}", " ", "\n", ",", #""":"#, "[", "]", "{", "}",
    ]

    @Test func `no combination of pieces takes more than one step for each byte, or hardly`() throws {
        var worst: [(text: String, stepsPerByte: Double)] = []
        for unit in Self.units(of: 3) {
            // Read as elements, and as the values of members.
            for (separator, brackets) in [(",", ("[", "]")), (#","":"#, (#"{"":"#, "}"))] {
                let text = Self.text(of: unit, separator, brackets, bytes: 256)
                guard let steps = try? Self.steps(toSkip: text) else { continue }
                worst.append((text, Double(steps) / Double(text.utf8.count)))
            }
        }
        worst.sort { $0.stepsPerByte > $1.stepsPerByte }
        #expect(worst.count > 500, "the search finds texts that can be read")
        for (text, stepsPerByte) in worst.prefix(20) {
            #expect(stepsPerByte <= Self.mostStepsPerByte, "\(text.prefix(80))")
        }
    }

    @Test(arguments: [
        "0,", "[],", "{},", #""":0,"#, #""\n","#, #""é","#, " ", #""0123456789abcdef","#, "-1.5e+3,", "[[[[0]]]],",
    ])
    func `twice the text takes twice the steps`(piece: String) throws {
        func steps(_ count: Int) throws -> Int {
            let content = String(repeating: piece, count: count)
            let isMember = piece.hasPrefix(#""":"#)
            let last = isMember ? #""":0"# : "0"
            return try Self.steps(toSkip: (isMember ? "{" : "[") + content + last + (isMember ? "}" : "]"))
        }
        let (small, large) = (try steps(1000), try steps(2000))
        #expect(large > small && large - small <= small)
    }

    @Test func `a text that is skipped sixteen bytes at a time counts a sixteenth`() throws {
        let text = "\"" + String(repeating: "x", count: 1 << 16) + "\""
        #expect(try Self.steps(toSkip: text) <= (1 << 12) + 20)
    }

    @Test func `the allowance is for all values together, and its depth for each`() throws {
        var allowance = JSONSkipAllowance(maximumDepth: 2, maximumWork: 10)
        for _ in 1...5 { try Self.skip("0", within: &allowance) }
        #expect(throws: JSONFault(.tooMuchSkipped, at: 1)) { try Self.skip("0", within: &allowance) }
        var shallow = JSONSkipAllowance(maximumDepth: 2, maximumWork: 1000)
        try Self.skip("[[0]]", within: &shallow)
        #expect(throws: JSONFault(.tooDeep(maximumDepth: 2), at: 2)) { try Self.skip("[[[0]]]", within: &shallow) }
    }

    @Test func `a text that is no JSON ends where its fault is`() {
        var allowance = JSONSkipAllowance(maximumDepth: 16, maximumWork: 1 << 20)
        for text in ["01", "1.", "1e", "-", "nul", "tru", "[0 0]", "[0,]", "{0:0}", #"{"":}"#, #""\x""#, "\"\u{1}\""] {
            #expect(throws: JSONFault.self, "\(text)") { try Self.skip(text + " ", within: &allowance) }
        }
    }

    // MARK: - Steps

    /// Returns all sequences of up to `count` pieces.
    private static func units(of count: Int) -> [String] {
        count == 1 ? pieces : units(of: count - 1) + units(of: count - 1).flatMap { unit in pieces.map { unit + $0 } }
    }

    private static func text(
        of unit: String, _ separator: String, _ brackets: (String, String), bytes: Int
    ) -> String {
        let count = max(1, bytes / (unit.utf8.count + separator.utf8.count))
        return brackets.0 + Array(repeating: unit, count: count).joined(separator: separator) + brackets.1
    }

    private static func steps(toSkip text: String) throws -> Int {
        var allowance = JSONSkipAllowance(maximumDepth: 64, maximumWork: .max / 2)
        return try skip(text, within: &allowance)
    }

    @discardableResult
    private static func skip(_ text: String, within allowance: inout JSONSkipAllowance) throws -> Int {
        let bytes = Array(text.utf8)
        var reader = JSONReader(bytes.span)
        try reader.skipValue(within: &allowance)
        // Without an end, a lone value could not be told from a longer one.
        try reader.endDocument()
        return reader.work
    }
}
