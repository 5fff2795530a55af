// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import LoadTest

/// WCAG 2.2.
struct HueTests {
    /// §1.4.3: 4.5 to 1 for text.
    @Test(arguments: [Hue.ink, .muted, .good, .bad, .caution])
    func `text can be read by day and by night`(_ hue: Hue) throws {
        for ground in [Hue.page, .card, .shade] {
            #expect(try Self.contrast(hue, ground, \.light) >= 4.5, "on \(ground)")
            #expect(try Self.contrast(hue, ground, \.dark) >= 4.5, "on \(ground), by night")
        }
    }

    /// §1.4.11: 3 to 1 for what is drawn.
    @Test(arguments: Hue.allCases.filter { ![.page, .card, .shade, .rule].contains($0) })
    func `lines and areas can be told from the ground`(_ hue: Hue) throws {
        #expect(try Self.contrast(hue, .card, \.light) >= 3)
        #expect(try Self.contrast(hue, .card, \.dark) >= 3)
    }

    @Test func `every hue has colours`() {
        #expect(Hue.colours.count == Hue.allCases.count)
    }

    @Test func `outcomes have colours of their own`() {
        let names = OutcomeNames.ordered(["error", "zeta", "hit_near", "shed", "alpha", "local", "stale", "upstream"])
        #expect(names == ["hit_near", "local", "upstream", "stale", "shed", "error", "alpha", "zeta"])
        let hues = OutcomeNames.hues(for: names)
        #expect(Set(hues).count == hues.count)
        #expect(OutcomeNames.words(for: "zeta") == "zeta")
        #expect(OutcomeNames.hues(for: (0..<64).map { "o\($0)" }).count == 64)
    }

    private static func contrast(
        _ a: Hue, _ b: Hue, _ scheme: ((light: String, dark: String)) -> String
    ) throws -> Double {
        let (first, second) = try (
            luminance(scheme(#require(Hue.colours[a]))), luminance(scheme(#require(Hue.colours[b])))
        )
        return (max(first, second) + 0.05) / (min(first, second) + 0.05)
    }

    private static func luminance(_ colour: String) throws -> Double {
        let number = try #require(Int(colour.dropFirst(), radix: 16))
        let parts = [number >> 16, number >> 8 & 255, number & 255].map { part -> Double in
            let share = Double(part) / 255
            return share <= 0.04045 ? share / 12.92 : pow((share + 0.055) / 1.055, 2.4)
        }
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]
    }
}
