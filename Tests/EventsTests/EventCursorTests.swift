// SPDX-License-Identifier: Apache-2.0

import Receipts
import Testing

@testable import Customers

@Suite("The cursor of a reader")
struct EventCursorTests {
    private static let app = "com.example.shop"

    private static func cursor(_ positions: [(String, Int, EventPosition)]) -> EventCursor {
        positions.reduce(into: EventCursor()) { $0[AppPartition(bundleID: $1.0, number: $1.1)] = $1.2 }
    }

    private static let samples = [
        EventCursor(),
        cursor([(app, 0, EventPosition(milliseconds: 1, counter: 0, number: 1))]),
        cursor([
            (app, 7, EventPosition(milliseconds: 1_780_000_000_123, counter: 127, number: 128)),
            (app, 3, EventPosition(milliseconds: 1 << 53, counter: 1 << 53, number: 1 << 53)),
            ("com.example.another", 3, EventPosition(milliseconds: 0, counter: 0, number: 16_384)),
        ]),
    ]

    @Test(arguments: samples) func `a cursor is read back from its text`(cursor: EventCursor) {
        #expect(EventCursor(text: cursor.text) == cursor)
    }

    @Test func `the cursor of one app is short, and that of sixteen with long names is within the limit`() {
        func positions(_ app: String) -> [(String, Int, EventPosition)] {
            (0..<8).map { (app, $0, EventPosition(milliseconds: 1_780_000_000_123, counter: 3, number: 1_000_000)) }
        }
        #expect(Self.cursor(positions(Self.app)).text.utf8.count < 150)
        let apps = (10..<26).map { String(repeating: "a", count: 153) + "\($0)" }
        let long = Self.cursor(apps.flatMap(positions))
        #expect(EventCursor(text: long.text) == long)
    }

    @Test func `a partition without a position begins at the start`() {
        var cursor = Self.samples[1]
        #expect(cursor[AppPartition(bundleID: Self.app, number: 1)] == .start && cursor.apps == [Self.app])
        cursor[AppPartition(bundleID: Self.app, number: 0)] = .start
        #expect(cursor == EventCursor() && cursor.apps.isEmpty)
    }

    // MARK: - Hostile texts

    private static func text(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        Base64.append(encodingURL: bytes, to: &text)
        return String(decoding: text, as: UTF8.self)
    }

    /// An app with a name of one letter.
    private static func app(_ letter: Character, partitions: UInt8 = 1, _ position: [UInt8] = [1, 0, 1]) -> [UInt8] {
        [1, letter.asciiValue ?? 0, partitions] + position
    }

    private static let hostile: [(String, String)] = [
        ("nothing", ""), ("no base64", "A*"), ("padding", text([1]) + "=="), ("no version", text([])),
        ("another version", text([2])), ("an app without bytes", text([1, 9])),
        ("no partition", text([1] + app("a", partitions: 0, []))),
        ("a position at the start", text([1] + app("a", [0, 0, 0]))),
        ("an app twice", text([1] + app("a") + app("a"))), ("apps out of order", text([1] + app("b") + app("a"))),
        ("a name that is no UTF-8", text([1, 1, 0xFF, 1, 1, 0, 1])),
        ("a number in a longer form", text([1] + app("a", [0x81, 0, 0, 1]))),
        ("a number beyond 2^53", text([1] + app("a", [0x81, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x10, 0, 1]))),
        ("a number without end", text([1] + app("a", Array(repeating: 0xFF, count: 64)))),
        ("seventeen apps", text([1] + "abcdefghijklmnopq".flatMap { app($0) })),
        ("unused bits", "AR"), ("latest", "latest"), ("null bytes", text([0, 0, 0, 0])),
    ]

    @Test(arguments: hostile) func `no other text is a cursor`(fault: String, text: String) {
        #expect(EventCursor(text: text) == nil, "\(fault)")
    }

    @Test func `a text beyond the limit is not read`() {
        // Sixteen apps whose names are as long as the form permits.
        let apps: [UInt8] = "abcdefghijklmnop".flatMap { letter -> [UInt8] in
            [255] + Array(repeating: letter.asciiValue ?? 0, count: 255) + [0xFF]
                + Array(repeating: 1, count: 3 * AppPartition.count)
        }
        let text = Self.text([1] + apps + apps)
        #expect(text.utf8.count > EventCursor.Limits.textBytes && EventCursor(text: text) == nil)
    }

    @Test func `sixteen apps are no fault`() {
        #expect(EventCursor(text: Self.text([1] + "abcdefghijklmnop".flatMap { Self.app($0) })) != nil)
    }

    @Test func `a text that is cut, continued or changed is another cursor or none, and never traps`() {
        let text = Self.samples[2].text
        for end in text.indices {
            let cut = String(text[..<end])
            #expect(EventCursor(text: cut).map { $0.text == cut } ?? true)
            for byte in "A_9" {
                let changed = cut + String(byte) + text[text.index(after: end)...]
                #expect(EventCursor(text: changed).map { $0.text == changed } ?? true)
            }
        }
        #expect(EventCursor(text: text + "AAAA") == nil)
    }
}
