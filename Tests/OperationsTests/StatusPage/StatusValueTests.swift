// SPDX-License-Identifier: Apache-2.0

import JSON
import Receipts
import Testing

@testable import Operations
@testable import ServerTestSupport

@Suite("Values of the status page")
struct StatusValueTests {
    private static let values: [(StatusValue, text: String, json: String)] = [
        (.word("half_open"), "half open", #""half_open""#),
        (.word("open", shown: "open, for 3 s"), "open, for 3 s", #""open""#),
        (.none(), "–", "null"), (.none(shown: "none set"), "none set", "null"),
        (.count(0), "0", "0"), (.count(9999), "9999", "9999"), (.count(12_345), "12\u{202F}345", "12345"),
        (.count(1_234_567), "1\u{202F}234\u{202F}567", "1234567"),
        (.count(-1_000_000), "-1\u{202F}000\u{202F}000", "-1000000"),
        (.part(3, of: 200), "3 of 200", #"{"now":3,"most":200}"#),
        (.number(0.4249), "0.42", "0.4249"), (.number(nil), "–", "null"),
        (.rate(0), "0/s", "0.0"), (.rate(0.01), "<0.1/s", "0.01"), (.rate(12.34), "12.3/s", "12.34"),
        (.rate(99.96), "100/s", "99.96"), (.rate(23_456), "23\u{202F}456/s", "23456.0"), (.rate(nil), "–", "null"),
        (.share(0), "0 %", "0.0"), (.share(0.0123), "1.2 %", "0.0123"), (.share(0.934), "93 %", "0.934"),
        (.share(1), "100 %", "1.0"), (.share(nil), "–", "null"),
        (.latency(0.000_42), "0.42 ms", "0.00042"), (.latency(0.0123), "12.3 ms", "0.0123"),
        (.latency(0.25), "250 ms", "0.25"), (.latency(1.234), "1.23 s", "1.234"), (.latency(nil), "–", "null"),
        (.span(.seconds(0)), "0 s", "0"), (.span(.seconds(59)), "59 s", "59"), (.span(.seconds(61)), "1 min 1 s", "61"),
        (.span(.seconds(3600)), "1 h", "3600"), (.span(.seconds(99 * 86_400 + 2 * 3600 + 59)), "99 d 2 h", "8560859"),
        (.span(nil), "–", "null"), (.bytes(512), "512 B", "512"), (.bytes(1536), "1.5 KiB", "1536"),
        (.bytes(64 << 20), "64 MiB", "67108864"), (.bytes(nil), "–", "null"),
        (.time(StatusSample.now), "2026-11-21 12:00:00 UTC", #""2026-11-21T12:00:00Z""#),
        (.time(Timestamp(millisecondsSince1970: 1_798_675_200_000)), "2026-12-31", #""2026-12-31T00:00:00Z""#),
        (.time(nil), "–", "null"), (.names([]), "none", "[]"), (.names(["a", "b"]), "a, b", #"["a","b"]"#),
        (
            .names((1...7).map { "app\($0)" }), "app1, app2, app3, app4, app5 and 2 more",
            #"["app1","app2","app3","app4","app5","app6","app7"]"#
        ),
    ]

    @Test(arguments: values.indices) func `a value has one text for people and one for programs`(_ index: Int) {
        let (value, text, json) = Self.values[index]
        var writer = JSONWriter()
        writer.value(value)
        #expect(value.text == text)
        #expect(String(decoding: writer.bytes, as: UTF8.self) == json)
    }

    @Test func `the number of names for programs is limited`() {
        var writer = JSONWriter()
        writer.value(.names([String](repeating: "a", count: StatusValue.Limits.names + 1)))
        #expect(writer.bytes.count { $0 == UInt8(ascii: ",") } == StatusValue.Limits.names - 1)
        #expect(StatusValue.Limits.names == 1000)
    }

    @Test(arguments: [Double.nan, .infinity, -.infinity, 1e300])
    func `a number that cannot be shown appears as unknown`(_ number: Double) {
        for value in [StatusValue.number(number), .rate(number), .share(number), .latency(number)] {
            #expect(value.text.contains(StatusValue.nothing))
        }
    }
}
