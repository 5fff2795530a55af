// SPDX-License-Identifier: Apache-2.0

import Testing
import TestSupport

@testable import JSON

struct JSONValueTests {
    @Test(arguments: [
        #"{"b":1,"a":[true,false,null,{"":[]}],"c":{}}"#, "[]", #""text""#, "0", "-0", "null", "true",
        "[1152921504606846976,1.0,1e3,1E+3,-2.50e-7,123456789012345678901234567890]",
        #"{"é":"😀","\n":"\"\\\u0001"}"#,
    ])
    func `what is read is written back`(_ text: String) throws {
        #expect(try String(decoding: JSONValue(parsing: Array(text.utf8)).bytes, as: UTF8.self) == text)
    }

    @Test func `white space and escapes are no part of the value`() throws {
        let text = "\t{ \"\\u0061\" : [ 1 ,\r\n 2 ] , \"b\" : \"\\/\\u00e9\\ud83d\\ude00\" } \n"
        #expect(
            try JSONValue(parsing: Array(text.utf8)) == JSONValue(parsing: Array(#"{"a":[1,2],"b":"/é😀"}"#.utf8)))
        let value = try JSONValue(parsing: Array(text.utf8))
        #expect(value["a"]?.elements?.map(\.content) == [1, 2].map { .number(JSONNumber(text: "\($0)")) })
        #expect(value["b"]?.content == .string("/é😀"))
    }

    @Test(
        arguments: [
            ("{ \"a\" : [ 1 , 2 ] }", #"{"a":[1,2]}"#), ("[]", nil), ("{", nil), ("", nil),
            // In the result `\b` takes six bytes.
            (#"{"a":"\#(String(repeating: #"\b"#, count: 6000))"}"#, nil),
        ] as [(String, String?)])
    func `a compact object is the same when it is read again`(text: String, compact: String?) {
        let bytes = JSONValue.compactObject(Array(text.utf8))
        #expect(bytes == compact.map { Array($0.utf8) })
        #expect(bytes.flatMap(JSONValue.compactObject) == bytes)
    }

    @Test func `the longest compact object has 16 KiB`() {
        func object(_ bytes: Int) -> [UInt8] { Array(#"{"a":"\#(String(repeating: "x", count: bytes - 8))"}"#.utf8) }
        #expect(JSONValue.compactObject(object(16_384)) == object(16_384))
        #expect(JSONValue.compactObject(object(16_385)) == nil)
    }

    @Test func `members are found by name`() throws {
        let value = try JSONValue(parsing: Array(#"{"n":2,"s":"x","b":true,"a":[null],"o":{"n":null}}"#.utf8))
        #expect(value["n"]?.number?.integer == 2)
        #expect(value["s"]?.string == "x")
        #expect(value["b"]?.bool == true)
        #expect(value["a"]?.elements == [.null])
        #expect(value["o"]?["n"] == .null)
        #expect(value["o"]?.members?.map(\.name) == ["n"])
        #expect(value["x"] == nil)
        #expect(value["s"]?["x"] == nil)
        #expect(value["s"]?.number == nil)
        #expect(value["n"]?.string == nil)
    }

    @Test(arguments: [
        (#"{"a":1,"a":2}"#, 8), (#"{"a":1,"\u0061":2}"#, 8), (#"{"\u0061":1,"a":2}"#, 13),
        (#"{"\u0061":1,"\u0061":2}"#, 13), (#"{"b":{"a":1},"\u0062":{},"a":0}"#, 14),
        (#"{"a":{"b":1,"c":[{"b":1,"b":2}]}}"#, 25),
    ])
    func `a name that an object has twice is a fault`(text: String, position: Int) {
        #expect(throws: JSONFault(.duplicateField, at: position)) { try JSONValue(parsing: Array(text.utf8)) }
    }

    @Test func `the fault of a duplicate name does not say that the body is there twice`() {
        #expect(
            JSONFault(.duplicateField, at: 7).description == "a name in one object appears more than once (at byte 7)")
        #expect(JSONFault(.duplicateField, field: "a", at: 7).description == "\"a\" appears more than once (at byte 7)")
    }

    /// The first names of an object are compared in another way than the others.
    @Test(arguments: [0, 31, 32, 33, 39], [false, true])
    func `each of many names is known`(repeated: Int, isEscaped: Bool) throws {
        let names = (0..<40).map { $0 == 35 && isEscaped ? #"\u006e35"# : "n\($0)" }
        func object(_ names: [String]) -> [UInt8] {
            Array("{\(names.map { "\"\($0)\":{}" }.joined(separator: ","))}".utf8)
        }
        let value = try JSONValue(parsing: object(names))
        #expect(value.members?.count == 40 && (0..<40).allSatisfy { value["n\($0)"] != nil } && value["n40"] == nil)
        #expect(throws: JSONFault.self) { try JSONValue(parsing: object(names + ["n\(repeated)"])) }
        #expect(throws: JSONFault.self) { try JSONValue(parsing: object([#"\u006e\#(repeated)"#] + names)) }
    }

    @Test func `a name in two parts is found as a whole`() throws {
        let value = try JSONValue(parsing: Array(#"{"date":1,"date_ms":2,"\u0064ate_p":3,"x":"date_ms"}"#.utf8))
        #expect(value["date", suffix: ""]?.number?.integer == 1 && value["date", suffix: "_ms"]?.number?.integer == 2)
        #expect(value["date", suffix: "_p"]?.number?.integer == 3 && value["date", suffix: "_m"] == nil)
    }

    @Test func `a name with escapes is found by what it says, as a whole`() throws {
        let text = #"{"\u0061bc":1,"ab\u0063d":2,"\u00e9t\u00E9":3,"\ud83d\ude00x":4,"a\/b\n":5,"\u0000":6,"a\"":7}"#
        let value = try JSONValue(parsing: Array(text.utf8))
        for (index, name) in ["abc", "abcd", "été", "😀x", "a/b\n", "\0", "a\""].enumerated() {
            #expect(value[name]?.number?.integer == Int64(index + 1), "\(name)")
        }
        #expect(["", "a", "ab", "abcde", "é", "ét", "😀", "😀xy", "a/b", "a\\"].allSatisfy { value[$0] == nil })
    }

    @Test func `values are equal if their contents are`() throws {
        let one = try JSONValue(parsing: Array(#"{"a":[1,"x"],"b":null}"#.utf8))
        #expect(try one == JSONValue(parsing: Array(#" { "a" : [ 1 , "\u0078" ] , "b" : null } "#.utf8)))
        for other in [#"{"a":[1,"x"]}"#, #"{"b":null,"a":[1,"x"]}"#, #"{"a":[1.0,"x"],"b":null}"#, "[]"] {
            #expect(try one != JSONValue(parsing: Array(other.utf8)))
        }
        #expect(one["b"] == .null && one["a"] != .null)
    }

    @Test func `names that only Unicode treats as equal are different names`() throws {
        let value = try JSONValue(parsing: Array("{\"\u{212A}\":1,\"K\":2,\"e\u{301}\":3,\"\u{E9}\":4}".utf8))
        #expect(value["K"]?.number?.integer == 2)
        #expect(value["\u{E9}"]?.number?.integer == 4)
    }

    @Test(arguments: [("9223372036854775807", Int64.max), ("-9223372036854775808", .min), ("-0", 0)])
    func `integers of 64 bits are integers`(text: String, integer: Int64) throws {
        #expect(try JSONValue(parsing: Array(text.utf8)).number?.integer == integer)
    }

    @Test(arguments: ["9223372036854775808", "1.0", "1e3", "-0.5"])
    func `other numbers are not`(_ text: String) throws {
        let number = try JSONValue(parsing: Array(text.utf8)).number
        #expect(number?.integer == nil)
        #expect(number?.text == text)
    }

    @Test(arguments: faults)
    func `a fault is named with its position`(text: String, rule: JSONFault.Rule, position: Int) {
        #expect(throws: JSONFault(rule, at: position)) { try JSONValue(parsing: Array(text.utf8)) }
    }

    @Test func `an object cut short anywhere is truncated`() throws {
        let text = Array(#"{"a":[1.5e+3,true,null,"\u00e9"],"b":{"c":false}}"#.utf8)
        _ = try JSONValue(parsing: text)
        for count in 1..<text.count {
            let fault = #expect(throws: JSONFault.self) { try JSONValue(parsing: Array(text[..<count])) }
            #expect(fault?.rule == .truncated, "cut at \(count)")
        }
    }

    @Test func `bytes that are not UTF-8 are found in names and strings`() {
        #expect(throws: JSONFault(.invalidUTF8, at: 2)) { try JSONValue(parsing: [0x7B, 0x22, 0xFF, 0x22]) }
        #expect(throws: JSONFault(.invalidUTF8, at: 2)) { try JSONValue(parsing: [0x5B, 0x22, 0xFF, 0x22]) }
    }

    // MARK: - Limits

    @Test func `depth is limited`() throws {
        let limits = JSONValue.Limits(depth: 3)
        _ = try JSONValue(parsing: Array(#"[{"a":[1]},[[]]]"#.utf8), limits: limits)
        #expect(throws: JSONFault(.tooDeep(maximumDepth: 3), at: 7)) {
            try JSONValue(parsing: Array(#"[{"a":[[]]}]"#.utf8), limits: limits)
        }
        let deep = [UInt8](repeating: UInt8(ascii: "["), count: 1_000_000)
        #expect(throws: JSONFault(.tooDeep(maximumDepth: 16), at: 16)) { try JSONValue(parsing: deep) }
    }

    @Test func `members and elements are counted together`() throws {
        let limits = JSONValue.Limits(values: 4)
        _ = try JSONValue(parsing: Array(#"{"a":[1,2],"b":3}"#.utf8), limits: limits)
        #expect(throws: JSONFault(.tooManyValues(maximum: 4), at: 12)) {
            try JSONValue(parsing: Array(#"{"a":[1,2,3,4]}"#.utf8), limits: limits)
        }
    }

    @Test func `bytes are limited`() throws {
        _ = try JSONValue(parsing: Array("[10]".utf8), limits: JSONValue.Limits(bytes: 4))
        #expect(throws: JSONFault(.tooLarge(maximumBytes: 4), at: 0)) {
            try JSONValue(parsing: Array("[100]".utf8), limits: JSONValue.Limits(bytes: 4))
        }
    }

    /// A reader that searches backwards would need minutes for this.
    @Test(.timeLimit(.patient))
    func `a megabyte of names and a megabyte of text take a moment`() throws {
        let members = (0..<100_000).map { "\"name\($0)\":\"\u{E9}\\u00e9\"" }.joined(separator: ",")
        #expect(try JSONValue(parsing: Array("{\(members)}".utf8)).members?.count == 100_000)
        let text = String(repeating: "\u{E9}", count: 1 << 19)
        #expect(try JSONValue(parsing: Array("\"\(text)\"".utf8)).content == .string(OutsideText(text)))
    }

    private static let faults: [(String, JSONFault.Rule, Int)] = [
        ("", .emptyBody, 0), (" \n", .emptyBody, 2), ("\u{FEFF}{}", .byteOrderMark, 0),
        ("<html>", .expected("a value"), 0), ("{} {}", .trailingData, 3), ("[]]", .trailingData, 2),
        ("01", .expected("a number"), 0), ("-", .truncated, 1), ("[-]", .expected("a number"), 1),
        ("[1.]", .expected("a number"), 1), ("[.5]", .expected("a value"), 1), ("[1e]", .expected("a number"), 1),
        ("[+1]", .expected("a value"), 1), ("[0x1]", .expected("',' or ']'"), 2), ("[NaN]", .expected("a value"), 1),
        ("[truex]", .expected("',' or ']'"), 5), ("[tru]", .expected("true or false"), 4),
        ("[nul]", .expected("null"), 4), ("[1,]", .expected("a value"), 3), ("[,1]", .expected("a value"), 1),
        ("[1 2]", .expected("',' or ']'"), 3), ("[1}", .expected("',' or ']'"), 2), ("[1", .truncated, 2),
        (#"{"a":1,}"#, .expected("a field name in quotes"), 7), (#"{"a":1]"#, .expected("',' or '}'"), 6),
        (#"{a:1}"#, .expected("a field name in quotes"), 1), (#"{"a"}"#, .expected("':'"), 4),
        (#"{"a":1,"\u0061":2}"#, .duplicateField, 8), (#"[{"b":{"a":1,"a":1}}]"#, .duplicateField, 14),
        ("[\"\n\"]", .controlCharacter, 2), (#"["\x"]"#, .invalidEscape, 2), (#"["\ud800"]"#, .loneSurrogate, 2),
        ("// comment", .expected("a value"), 0), ("'a'", .expected("a value"), 0),
    ]
}
