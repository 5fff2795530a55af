// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// Every colour of a page, on light and on dark ground.
///
/// Hues differ in lightness too, so that readers who do not see red from green can tell neighbours apart; no colour says
/// anything that a word beside it does not. `HueTests` holds them to the contrast of WCAG 2.2 §1.4.3 and §1.4.11.
enum Hue: String, CaseIterable, Sendable {
    // Ground and text.
    case page, card, ink, muted, rule, shade
    // Verdicts.
    case good, bad, caution
    // Lines.
    case response, service, lag, target
    case p50, p90, p99, maximum
    // Outcomes, and whatever else there are several of.
    case near, shared, local, upstream, collapsed, stale, rejected, undecided, shed, refused, failure

    /// On light ground, `#rrggbb`.
    var light: String {
        switch self {
        case .page: "#f6f6f3"
        case .card: "#ffffff"
        case .ink: "#1d2329"
        case .muted: "#58616a"
        case .rule: "#e2e4e6"
        case .shade: "#f0f1ef"
        case .good: "#16714a"
        case .bad: "#b0281f"
        case .caution: "#8a5a00"
        case .response: "#0b62a8"
        case .service: "#c4650f"
        case .lag: "#7a4fa3"
        case .target: "#3d464f"
        case .p50: "#6496c2"
        case .p90: "#3a80bd"
        case .p99: "#0b4f8a"
        case .maximum: "#c4650f"
        case .near: "#2a67ab"
        case .shared: "#4a94c9"
        case .local: "#178466"
        case .upstream: "#a5821a"
        case .collapsed: "#8a64b5"
        case .stale: "#846a57"
        case .rejected: "#7c858e"
        case .undecided: "#4f5963"
        case .shed: "#cf7020"
        case .refused: "#a8567e"
        case .failure: "#b5302a"
        }
    }

    /// On dark ground, `#rrggbb`.
    var dark: String {
        switch self {
        case .page: "#101418"
        case .card: "#171c21"
        case .ink: "#e7eaec"
        case .muted: "#a0aab3"
        case .rule: "#2b323a"
        case .shade: "#1e242a"
        case .good: "#5ec795"
        case .bad: "#f58a80"
        case .caution: "#e6b450"
        case .response: "#6db3f2"
        case .service: "#f0a35a"
        case .lag: "#c0a0e6"
        case .target: "#c9d0d6"
        case .p50: "#3f75a3"
        case .p90: "#5f9fd6"
        case .p99: "#a5d3fa"
        case .maximum: "#f0a35a"
        case .near: "#5b97d8"
        case .shared: "#93c6ea"
        case .local: "#45b894"
        case .upstream: "#d6b24a"
        case .collapsed: "#b493dc"
        case .stale: "#bb9f8b"
        case .rejected: "#87919a"
        case .undecided: "#c2cad1"
        case .shed: "#e9974f"
        case .refused: "#dd8fb4"
        case .failure: "#ee7068"
        }
    }

    /// For what has no colour of its own.
    static let others: [Hue] = [
        .near, .service, .local, .collapsed, .upstream, .refused, .shared, .stale, .undecided, .rejected,
    ]
}
