// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import LoadTest

/// The colours of pages, by WCAG 2.2.
struct HueTests {
    /// `#rrggbb` of each custom property, in the order of the style sheet: for the light and for the dark colour scheme.
    private static let colours: [String: [String]] = String(decoding: PackageResources.report_css, as: UTF8.self)
        .matches(of: /--([a-z0-9]+): (#[0-9a-f]{6});/)
        .reduce(into: [:]) { $0[String($1.output.1), default: []].append(String($1.output.2)) }

    @Test func `every hue has a colour in both schemes`() {
        #expect(Self.colours.count == 28 && Self.colours.values.allSatisfy { $0.count == 2 })
    }

    /// §1.4.3: 4.5 to 1 for text.
    @Test(arguments: ["ink", "muted", "good", "bad", "caution"])
    func `text can be read by day and by night`(_ hue: String) throws {
        for ground in ["page", "card", "shade"] {
            for scheme in 0...1 { #expect(try Self.contrast(hue, ground, scheme) >= 4.5, "on \(ground)") }
        }
    }

    /// §1.4.11: 3 to 1 for what is drawn.
    @Test func `lines and areas can be told from the ground`() throws {
        for hue in Self.colours.keys where !["page", "card", "shade", "rule"].contains(hue) {
            for scheme in 0...1 { #expect(try Self.contrast(hue, "card", scheme) >= 3, "\(hue)") }
        }
    }

    private static func contrast(_ a: String, _ b: String, _ scheme: Int) throws -> Double {
        let (first, second) = try (
            luminance(#require(colours[a])[scheme]), luminance(#require(colours[b])[scheme])
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
