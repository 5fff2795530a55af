// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import JSON

@Suite("Writing JSON")
struct JSONWriterTests {
    @Test func `commas stand between members and elements only`() {
        let text = written {
            $0.object { json in
                json.key("empty")
                json.object { _ in }
                json.key("list")
                json.array { list in
                    list.integer(1)
                    list.bool(true)
                    list.null()
                    list.object {
                        $0.key("x"); $0.number(0.5)
                    }
                }
                json.key("last")
                json.string("")
            }
        }
        #expect(text == #"{"empty":{},"list":[1,true,null,{"x":0.5}],"last":""}"#)
    }

    @Test(arguments: [
        ("plain", #""plain""#), ("\"\\/", #""\"\\/""#), ("\n\r\t", #""\n\r\t""#), ("\u{1}\u{1F}", #""\u0001\u001f""#),
        ("é😀\u{7F}", "\"é😀\u{7F}\""),
    ])
    func `strings are escaped as RFC 8259 requires`(value: String, expected: String) {
        #expect(written { $0.string(value) } == expected)
    }

    @Test(arguments: [("\"", #"\""#), ("\\", #"\\"#), ("\n", #"\n"#), ("\u{1}", #"\u0001"#), ("\u{1F}", #"\u001f"#)])
    func `an escape is found at each position, in names and values`(character: String, escape: String) {
        for length in 0...20 {
            for position in 0...length {
                func text(_ inserted: String) -> String {
                    String(repeating: "é", count: position % 3) + String(repeating: " ", count: position) + inserted
                        + String(repeating: "~", count: length - position)
                }
                let (plain, escaped) = (text(character), text(escape))
                #expect(written { $0.member(named: plain, "\(plain)!") } == "\"\(escaped)\":\"\(escaped)!\"")
                #expect(written { $0.member("a", plain) } == "\"a\":\"\(escaped)\"")
                #expect(written { $0.member("a", suffix: "_ms", plain) } == "\"a_ms\":\"\(escaped)\"")
            }
        }
    }

    @Test func `a name in the program is written as one that is not`() {
        func object(_ writeKey: (inout JSONWriter) -> Void) -> String {
            written {
                $0.object { json in
                    for _ in 0..<2 {
                        writeKey(&json)
                        json.null()
                    }
                }
            }
        }
        #expect(object { $0.key("né") } == object { $0.key(named: "né") })
        #expect(object { $0.key("né", suffix: "_ms") } == object { $0.key(named: "né_ms") })
        #expect(object { $0.key("") } == #"{"":null,"":null}"#)
    }

    @Test func `a writer of many lines begins each of them anew, also after its bytes were taken`() {
        var json = JSONWriter(), taken = ""
        for _ in 0..<2 {
            for _ in 0..<2 {
                json.object {
                    $0.key("a"); $0.integer(1)
                }
                json.endLine()
            }
            taken += String(decoding: json.bytes, as: UTF8.self) + "|"
            json.removeAll()
            #expect(json.bytes.isEmpty)
        }
        json.string("open")
        json.removeAll()
        json.string("x")
        #expect(taken == "{\"a\":1}\n{\"a\":1}\n|{\"a\":1}\n{\"a\":1}\n|")
        #expect(String(decoding: json.bytes, as: UTF8.self) == "\"x\"", "no comma of the text that was taken")
    }

    @Test(arguments: [(0, "0000000000000000"), (0x0123_4567_89AB_CDEF, "0123456789abcdef"), (.max, "ffffffffffffffff")])
    func `a number has sixteen hexadecimal digits`(number: UInt64, expected: String) {
        var digits: [UInt8] = []
        ASCII.append(hexadecimal: number, to: &digits)
        #expect(String(decoding: digits, as: UTF8.self) == expected)
    }

    @Test func `numbers JSON does not have become null`() {
        #expect(
            written {
                $0.array {
                    $0.number(.infinity); $0.number(.nan); $0.integer(UInt64.max)
                }
            }
                == "[null,null,18446744073709551615]")
    }

    @Test(arguments: [
        (0, "0.0"), (1, "0.000001"), (100_000, "0.1"), (1_000_000, "1.0"), (12_345_678, "12.345678"),
        (60_000_000_500, "60000.0005"), (Int64.max, "9223372036854.775807"),
    ])
    func `a decimal has the places it needs`(numerator: Int64, expected: String) {
        #expect(written { $0.decimal(numerator, places: 6) } == expected)
    }

    @Test func `a member in one step is the same as a key and a string`() {
        let inSteps = written { json in
            json.object { json in
                json.key("a"); json.string("x\ny")
                json.key("b"); json.string("y")
                json.key("c"); json.string("z")
            }
        }
        let inOne = written { json in
            json.object { json in
                json.member("a", "x\ny")
                json.member("b", "y")
                json.member("c") { $0.append(UInt8(ascii: "z")) }
            }
        }
        #expect(inOne == inSteps && inOne == #"{"a":"x\ny","b":"y","c":"z"}"#)
    }

    private func written(_ write: (inout JSONWriter) -> Void) -> String {
        var json = JSONWriter()
        write(&json)
        return String(decoding: json.bytes, as: UTF8.self)
    }
}
