// SPDX-License-Identifier: Apache-2.0

import Gateway
import ReceiptForge
import Receipts
import Testing
import TestSupport

@testable import AppStore

struct HTTPDateTests {
    @Test(arguments: [
        (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"), (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
        (-1, "Wed, 31 Dec 1969 23:59:59 GMT"), (-62_167_219_200, "Sat, 01 Jan 0000 00:00:00 GMT"),
        (253_402_300_799, "Fri, 31 Dec 9999 23:59:59 GMT"),
    ])
    func `a date is written as IMF-fixdate`(seconds: Int64, text: String) {
        let date = Timestamp(millisecondsSince1970: seconds * 1000)
        #expect(HTTPDate.text(date) == text)
        #expect(HTTPDate.timestamp(text, now: Self.now) == date)
    }

    private static let now = Timestamp(millisecondsSince1970: 1_700_000_000_000)

    @Test(arguments: [
        "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
        "Sun, 06 Nov 1994 08:49:37 UTC", "Mon, 06 Nov 1994 08:49:37 GMT", "Sun Nov 06 08:49:37 1994",
    ])
    func `the three forms of RFC 9110 are read, and a little more`(_ text: String) {
        #expect(HTTPDate.timestamp(text, now: Self.now)?.description == "1994-11-06T08:49:37Z")
    }

    @Test(arguments: [("Friday, 31-Dec-73 00:00:00 GMT", "2073"), ("Friday, 31-Dec-74 00:00:00 GMT", "1974")])
    func `two digits are at most 50 years ahead`(text: String, year: String) {
        #expect(HTTPDate.timestamp(text, now: Self.now)?.description.prefix(4) == year[...])
    }

    @Test(arguments: [
        "", "soon", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 EST", "Sun, 31 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 24:49:37 GMT", "Sun, 06 Nov 994 08:49:37 GMT", "Sun, 06 nov 1994 08:49:37 GMT",
        "06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49 GMT", "Sun, 06 Nov 1994 8:49:37 GMT",
        "1994-11-06T08:49:37Z", "1234567890, 06 Nov 1994 08:49:37 GMT", "+5, 06 Nov 1994 08:49:37 GMT",
        String(repeating: " ", count: 64) + "Sun, 06 Nov 1994 08:49:37 GMT",
    ])
    func `anything else is not a date`(_ text: String) {
        #expect(HTTPDate.timestamp(text, now: Self.now) == nil)
    }
}

struct RetryAfterTests {
    /// 2023-11-14T22:13:20Z.
    private static let now = Timestamp(millisecondsSince1970: 1_700_000_000_000)

    @Test(arguments: [
        ("0", 0), ("120", 120_000), (" 5\t", 5_000), ("3601", 3_600_000), ("999999999", 3_600_000),
        ("1700000060", 60_000), ("1699999999", 0), ("1000000000", 0), ("1999999999", 3_600_000),
        ("1700000001500", 1_500), ("1699999999999", 0), ("1000000000000", 0), ("9223372036854775807", 3_600_000),
        ("99999999999999999999", 3_600_000), ("Tue, 14 Nov 2023 22:13:50 GMT", 30_000),
        ("Tue, 14 Nov 2023 22:13:10 GMT", 0), ("Tuesday, 14-Nov-23 22:13:50 GMT", 30_000),
        ("Wed, 14 Nov 2029 22:13:50 GMT", 3_600_000),
    ])
    func `a value requests a wait`(value: String, milliseconds: Int) {
        #expect(RetryAfter.duration(value, now: Self.now) == .milliseconds(milliseconds))
    }

    @Test(arguments: ["", " ", "-1", "+1", "1.5", "soon", "1 2", "٣", String(repeating: "1", count: 65)])
    func `anything else requests no wait`(_ value: String) {
        #expect(RetryAfter.duration(value, now: Self.now) == nil)
    }

    @Test func `of several values the longest counts`() {
        #expect(RetryAfter.duration(["5", "soon", "7", "6"], now: Self.now) == .seconds(7))
        #expect(RetryAfter.duration([], now: Self.now) == nil)
        #expect(RetryAfter.duration(Array(repeating: "1", count: 8) + ["9"], now: Self.now) == .seconds(1))
    }

    @Test func `the clock may be any distance off`() {
        let never = Timestamp(millisecondsSince1970: .min)
        #expect(RetryAfter.duration("1700000060000", now: never) == RetryAfter.maximum)
        #expect(RetryAfter.duration("1700000060000", now: Timestamp(millisecondsSince1970: .max)) == .zero)
    }
}

struct LinkFieldTests {
    @Test func `links are read with their parameters`() {
        let links = LinkField.links(
            #"<https://a.example/x,y;z>; rel="sunset deprecation" ; TITLE="a \"b\", <c>; d", </next>;rel=next ,, <#>;flag"#
        )
        #expect(
            links == [
                LinkValue(
                    target: "https://a.example/x,y;z",
                    parameters: [
                        .init(name: "rel", value: "sunset deprecation"), .init(name: "title", value: #"a "b", <c>; d"#),
                    ]),
                LinkValue(target: "/next", parameters: [.init(name: "rel", value: "next")]),
                LinkValue(target: "#", parameters: [.init(name: "flag", value: "")]),
            ])
    }

    @Test(arguments: [
        "https://a.example", "<https://a.example", "<a>; rel=\"x", "<a> rel=x", "<a>; rel=", "<a>;=x", "<a>;rel=\"x\\",
        "<a> <b>", "x",
    ])
    func `anything else is not a link`(_ line: String) {
        #expect(LinkField.links(line) == nil)
    }

    @Test func `an empty field has no links`() {
        #expect(LinkField.links("") == [] && LinkField.links(" , ,") == [])
    }

    @Test func `only what concerns the end of this endpoint is announced`() {
        let announced = { (line: String) in LinkField.links(line)?.flatMap(\.announcements) ?? [] }
        #expect(
            announced(#"<https://a.example>; rel="Sunset help deprecation""#) == [
                LifecycleLink(.sunset, target: "https://a.example"),
                LifecycleLink(.deprecation, target: "https://a.example"),
            ])
        #expect(announced("<https://a.example>; rel=successor-version").map(\.relation) == [.successorVersion])
        #expect(announced("<https://a.example>; rel=help; rel=sunset") == [])
        #expect(announced("<https://a.example>; rel=sunset; anchor=\"#x\"") == [])
        #expect(announced("<https://a.example>") == [])
        for target in ["/relative", "ftp://a.example", "javascript:alert(1)", "https://a.example/\u{7}", "https://é"] {
            #expect(announced("<\(target)>; rel=sunset") == [], "\(target)")
        }
    }
}

struct EndpointAnnouncementsTests {
    /// 2023-11-14T22:13:20Z.
    private static let now = Timestamp(millisecondsSince1970: 1_700_000_000_000)
    typealias Announcements = EndpointAnnouncements

    private static func read(_ fields: [String: [String]]) -> Announcements {
        Announcements(now: now) { fields[$0] ?? [] }
    }

    private static func seconds(_ seconds: Int64) -> Timestamp { Timestamp(millisecondsSince1970: seconds * 1000) }

    @Test func `an ordinary answer announces nothing`() {
        #expect(Self.read([:]) == Announcements())
    }

    @Test(arguments: [
        (["@1688169599"], Announcements.Deprecation.dated(seconds(1_688_169_599))),
        (["@1688169599;x=1"], .dated(seconds(1_688_169_599))), (["@-5"], .dated(seconds(-5))),
        (["true"], .undated), (["?1"], .undated), (["Sun, 06 Nov 1994 08:49:37 GMT"], .dated(seconds(784_111_777))),
        (["@1688169599", "@1688169000"], .dated(seconds(1_688_169_000))),
        (["true", "@1688169599"], .dated(seconds(1_688_169_599))), (["@1800000000", "true"], .undated),
        (["true", "true"], .undated),
    ])
    func `a deprecation is read in three forms, and the earliest counts`(
        lines: [String], deprecation: Announcements.Deprecation
    ) {
        let announcements = Self.read(["Deprecation": lines])
        #expect(announcements.deprecation == deprecation && announcements.faults == [])
    }

    @Test func `of several sunsets the earliest counts`() {
        let announcements = Self.read([
            "Sunset": [
                "Sat, 31 Dec 2033 23:59:59 GMT", "Fri, 31 Dec 2032 23:59:59 UTC", "when we please",
                "Sun, 31 Dec 2034 23:59:59 GMT",
            ]
        ])
        #expect(announcements.sunset?.description == "2032-12-31T23:59:59Z")
        #expect(announcements.faults == [.unreadable(.sunset)])
    }

    @Test(arguments: ["", "false", "?0", "@", "@1.5", "@1234567890123456", "@+1", "@1 2", "soon"])
    func `an invalid deprecation is a fault and left out`(_ line: String) {
        let announcements = Self.read(["Deprecation": [line], "Sunset": ["Sat, 31 Dec 2033 23:59:59 GMT"]])
        #expect(announcements.deprecation == nil && announcements.sunset != nil)
        #expect(announcements.faults == [.unreadable(.deprecation)])
    }

    @Test func `links of all lines are collected, each once`() {
        let announcements = Self.read([
            "Link": [
                "<https://a.example>; rel=sunset", "nonsense",
                "<https://a.example>;rel=\"sunset\", <https://b.example>;rel=deprecation",
            ]
        ])
        #expect(announcements.links.map(\.target) == ["https://a.example", "https://b.example"])
        #expect(announcements.faults == [.unreadable(.link)])
    }

    @Test func `lines, their length, links and their targets are bounded`() {
        let lines = Announcements.Limits.lines
        let dates = Array(repeating: "@1688169599", count: lines)
        #expect(Self.read(["Deprecation": dates]).faults == [])
        let tooMany = Self.read(["Deprecation": dates + ["@1"]])
        #expect(
            tooMany.faults == [.limitExceeded(.deprecation)]
                && tooMany.deprecation == .dated(Self.seconds(1_688_169_599)))

        let padding = Announcements.Limits.lineBytes - 6
        #expect(Self.read(["Link": ["<a>;x=" + String(repeating: "x", count: padding)]]).faults == [])
        #expect(
            Self.read(["Link": ["<a>;x=" + String(repeating: "x", count: padding + 1)]]).faults == [
                .limitExceeded(.link)
            ])

        let links = (0...Announcements.Limits.links).map { "<https://a.example/\($0)>;rel=sunset" }
        #expect(Self.read(["Link": [links.dropLast().joined(separator: ",")]]).faults == [])
        let more = Self.read(["Link": [links.joined(separator: ",")]])
        #expect(more.links.count == Announcements.Limits.links && more.faults == [.limitExceeded(.link)])

        let target = "https://a.example/" + String(repeating: "x", count: Announcements.Limits.targetBytes - 18)
        #expect(Self.read(["Link": ["<\(target)>;rel=sunset"]]).links.map(\.target) == [target])
        #expect(Self.read(["Link": ["<\(target)x>;rel=sunset"]]).faults == [.limitExceeded(.link)])
    }

    /// From a fixed seed; each line gives a value or a fault.
    @Test func `parsing any header ends`() {
        let pieces = [
            "<", ">", ";", ",", "=", "\"", "\\", " ", "rel", "sunset", "https://a.example", "@", "1", ":", "GMT", "é",
        ]
        var random = SplitMix64(seed: TestSeed.number(1))
        for _ in 0..<2_000 {
            let line = (0..<12).compactMap { _ in pieces.randomElement(using: &random) }.joined()
            for field in EndpointAnnouncements.Field.allCases {
                #expect(Self.read([field.rawValue: [line]]).faults.count <= 1)
            }
            _ = RetryAfter.duration(line, now: Self.now)
        }
    }
}
