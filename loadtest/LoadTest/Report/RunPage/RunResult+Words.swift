// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

extension RunResult {
    /// The verdict in a few words: `Passed: all 2 thresholds were met`.
    var headline: String {
        let missed = thresholds.count { !$0.met }, all = thresholds.count
        return switch verdict {
        case .passed where all == 0: "Passed: it had no threshold"
        case .passed: all == 1 ? "Passed: its threshold was met" : "Passed: all \(all) thresholds were met"
        case .thresholdMissed: "Failed: \(missed) of \(all) thresholds missed"
        case .generatorOverloaded: "No verdict: the generator could not keep up"
        case .interrupted: "Interrupted after \(durationSeconds.rounded(toDecimals: 2).plain) seconds"
        }
    }

    /// `2,000 requests per second for 30 s, in an open loop, against http://…`.
    var sentence: String {
        let seconds = (plan.seconds ?? durationSeconds).rounded(toDecimals: 2).plain
        let loop = plan.loop == .open ? "in an open loop" : "in a closed loop"
        return
            "\(plan.load) for \(seconds) s, \(loop) over \(plan.connections.grouped) connections, against \(plan.url)."
    }
}

extension RunResult.Plan {
    /// The rate in words.
    var load: String {
        guard loop == .open, let first = stages.first else { return "As fast as it was answered" }
        let rates = stages.flatMap { [$0.fromPerSecond, $0.toPerSecond] }
        if rates.allSatisfy({ $0 == first.fromPerSecond }) { return "\(first.fromPerSecond.plain) requests per second" }
        return "\((rates.min() ?? 0).plain) to \((rates.max() ?? 0).plain) requests per second"
    }
}

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
