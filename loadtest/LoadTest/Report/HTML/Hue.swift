// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The colours of a page.
///
/// Hues differ in lightness too, for readers who cannot tell red from green; every colour has a word beside it.
/// `HueTests` checks the contrast of WCAG 2.2 §1.4.3 and §1.4.11.
enum Hue: String, CaseIterable, Sendable {
    case page, card, ink, muted, rule, shade
    // Verdicts.
    case good, bad, caution
    // Lines.
    case response, service, lag, target, p50, p90, p99, maximum
    // Outcomes, and series without a colour of their own.
    case near, shared, local, upstream, collapsed, stale, rejected, undecided, shed, refused, failure

    /// `#rrggbb` for the light and for the dark colour scheme.
    static let colours: [Hue: (light: String, dark: String)] = [
        .page: ("#f6f6f3", "#101418"), .card: ("#ffffff", "#171c21"), .ink: ("#1d2329", "#e7eaec"),
        .muted: ("#58616a", "#a0aab3"), .rule: ("#e2e4e6", "#2b323a"), .shade: ("#f0f1ef", "#1e242a"),
        .good: ("#16714a", "#5ec795"), .bad: ("#b0281f", "#f58a80"), .caution: ("#8a5a00", "#e6b450"),
        .response: ("#0b62a8", "#6db3f2"), .service: ("#c4650f", "#f0a35a"), .lag: ("#7a4fa3", "#c0a0e6"),
        .target: ("#3d464f", "#c9d0d6"), .p50: ("#6496c2", "#3f75a3"), .p90: ("#3a80bd", "#5f9fd6"),
        .p99: ("#0b4f8a", "#a5d3fa"), .maximum: ("#c4650f", "#f0a35a"), .near: ("#2a67ab", "#5b97d8"),
        .shared: ("#4a94c9", "#93c6ea"), .local: ("#178466", "#45b894"), .upstream: ("#a5821a", "#d6b24a"),
        .collapsed: ("#8a64b5", "#b493dc"), .stale: ("#846a57", "#bb9f8b"), .rejected: ("#7c858e", "#87919a"),
        .undecided: ("#4f5963", "#c2cad1"), .shed: ("#cf7020", "#e9974f"), .refused: ("#a8567e", "#dd8fb4"),
        .failure: ("#b5302a", "#ee7068"),
    ]

    /// For series without a colour of their own.
    static let others: [Hue] = [
        .near, .service, .local, .collapsed, .upstream, .refused, .shared, .stale, .undecided, .rejected,
    ]

    /// A custom property for each colour, and classes that use it. Paper is light.
    static var css: HTML {
        """
        :root { color-scheme: light dark; \(properties(\.light)) }
        @media (prefers-color-scheme: dark) { :root { \(properties(\.dark)) } }
        @media print { :root { \(properties(\.light)) } }
        \(allCases.map { ".stroke-\($0) { stroke: var(--\($0)); } .fill-\($0) { fill: var(--\($0)); }\n" })
        """
    }

    private static func properties(_ scheme: ((light: String, dark: String)) -> String) -> [HTML] {
        allCases.map { "--\($0): \(colours[$0].map(scheme) ?? ""); " }
    }
}
