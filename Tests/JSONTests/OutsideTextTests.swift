// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import JSON

struct OutsideTextTests {
    private static let limit = OutsideText.Limits.unicodeBytes

    @Test func `ASCII of any length becomes a string, other text up to the limit`() {
        let ascii = String(repeating: "a", count: 100_000)
        #expect(OutsideText(ascii).string == ascii)
        let longest = String(repeating: "é", count: Self.limit / 2)
        #expect(OutsideText(longest).string == longest)
        #expect(OutsideText(longest + "é").string == nil && OutsideText(longest + "a").string == nil)
        #expect(String(outside: Array(longest.utf8)) == longest && String(outside: Array((longest + "a").utf8)) == nil)
        #expect(String(outside: [0x61, 0xFF]) == nil)
    }

    @Test func `texts are equal if their bytes are`() {
        let (composed, decomposed) = (OutsideText("\u{E9}"), OutsideText("e\u{301}"))
        #expect(composed != decomposed && composed.string == decomposed.string)
        #expect(Set([composed, decomposed, composed]).count == 2)
    }

    @Test func `a long string beyond ASCII is kept in a tree and not handed out`() throws {
        let marks = String(repeating: "\u{301}\u{323}", count: 20_000)
        let text = #"{"a":"\#(marks)","\#(marks)":1}"#
        let value = try JSONValue(parsing: Array(text.utf8))
        #expect(value["a"]?.content == .string(OutsideText(marks)) && value["a"]?.string == nil)
        #expect(String(decoding: value.bytes, as: UTF8.self) == text)
        #expect(value["a"]?.string == nil && value.members?.last?.name.description == "a text of 80000 bytes")
    }

    @Test func `a long string beyond ASCII is a fault where a string is required`() throws {
        let marks = Array(#"{"a":"\#(String(repeating: "\u{301}", count: 200))"}"#.utf8)
        #expect(throws: JSONFault(.textTooLong(maximumBytes: Self.limit), at: 6)) {
            var reader = JSONReader(marks.span)
            try reader.beginObject()
            _ = try reader.nextKey()
            _ = try reader.string(of: reader.string())
        }
    }
}
