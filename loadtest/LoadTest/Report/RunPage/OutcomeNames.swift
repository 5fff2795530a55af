// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The order, names and colours of outcomes.
enum OutcomeNames {
    private static let known: [(outcome: String, words: String, hue: Hue)] = [
        ("hit_near", "near-cache hit", .near), ("hit_shared", "shared-cache hit", .shared),
        ("local", "verified locally", .local), ("upstream", "asked Apple", .upstream),
        ("collapsed", "coalesced", .collapsed), ("stale", "stale", .stale), ("answered", "answered", .near),
        ("rejected", "rejected", .rejected), ("undecided", "undecided", .undecided), ("refused", "refused", .refused),
        ("shed", "shed (429)", .shed), ("failed", "failed", .failure), ("error", "error", .failure),
    ]

    /// Returns the known outcomes in their order, then the others by name.
    static func ordered(_ outcomes: some Sequence<String>) -> [String] {
        let given = Set(outcomes), names = known.map(\.outcome)
        return names.filter(given.contains) + given.subtracting(names).sorted()
    }

    /// Returns the words for readers; an unknown outcome is its own name.
    static func words(for outcome: String) -> String { known.first { $0.outcome == outcome }?.words ?? outcome }

    /// Returns a colour for each outcome; unknown ones take turns with the colours that are left.
    static func hues(for outcomes: [String]) -> [Hue] {
        let hues = outcomes.map { outcome in known.first { $0.outcome == outcome }?.hue }
        let free = Hue.others.filter { !hues.contains($0) }
        var spare = Array(repeating: free.isEmpty ? Hue.others : free, count: outcomes.count).joined().makeIterator()
        return hues.map { $0 ?? spare.next() ?? .near }
    }
}
