// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// Outcomes in the order they are stacked in, with the colour and the words for each.
enum OutcomeNames {
    private static let known: [(outcome: String, words: String, hue: Hue)] = [
        ("hit_near", "near-cache hit", .near), ("hit_shared", "shared-cache hit", .shared),
        ("local", "verified locally", .local), ("upstream", "asked Apple", .upstream),
        ("collapsed", "joined a flight", .collapsed), ("stale", "stale", .stale),
        ("answered", "answered", .near), ("rejected", "rejected", .rejected), ("undecided", "undecided", .undecided),
        ("refused", "refused", .refused), ("shed", "shed (429)", .shed), ("failed", "failed", .failure),
        ("error", "error", .failure),
    ]

    /// The known ones in their order, the others by name.
    static func ordered(_ outcomes: some Sequence<String>) -> [String] {
        let given = Set(outcomes)
        let names = known.map(\.outcome)
        return names.filter(given.contains) + given.subtracting(names).sorted()
    }

    /// For readers; a stranger's outcome is its own name.
    static func words(for outcome: String) -> String {
        known.first { $0.outcome == outcome }?.words ?? outcome
    }

    /// One for each of them; strangers get what the others do not use, in turn.
    static func hues(for outcomes: [String]) -> [Hue] {
        let taken = outcomes.compactMap(hue)
        let free = Hue.others.filter { !taken.contains($0) }
        let spare = free.isEmpty ? Hue.others : free
        var strangers = 0
        return outcomes.map { outcome in
            if let hue = hue(of: outcome) { return hue }
            defer { strangers += 1 }
            return spare[strangers % spare.count]
        }
    }

    private static func hue(of outcome: String) -> Hue? { known.first { $0.outcome == outcome }?.hue }
}
