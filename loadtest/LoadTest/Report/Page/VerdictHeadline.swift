// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The first line of a page: how it went.
struct VerdictHeadline: Sendable {
    private let result: RunResult

    init(_ result: RunResult) {
        self.result = result
    }

    /// `Passed`, in as many words as are true.
    var words: String {
        let missed = result.thresholds.count { !$0.met }, all = result.thresholds.count
        return switch result.verdict {
        case .passed where all == 0: "Passed: it was held to no threshold"
        case .passed: all == 1 ? "Passed: its threshold was met" : "Passed: all \(all) thresholds were met"
        case .thresholdMissed: "Failed: \(missed) of \(all) thresholds missed"
        case .generatorOverloaded: "No verdict: the generator could not keep up"
        case .interrupted: "Interrupted after \(result.durationSeconds.rounded(toDecimals: 2).plain) seconds"
        }
    }

    private var look: (style: String, sign: String) {
        switch result.verdict {
        case .passed: ("good", "✓")
        case .thresholdMissed: ("bad", "✕")
        case .generatorOverloaded, .interrupted: ("caution", "!")
        }
    }

    var markup: Markup {
        let sign = Markup.tag("span", ["class": "sign", "aria-hidden": "true"], .text(look.sign))
        return .tag(
            "header", [:],
            .tag("p", ["class": "kicker"], "Load test · \(result.plan.title)"),
            .tag(
                "h1", ["class": look.style, "id": "verdict", "data-verdict": result.verdict.rawValue], sign, " ",
                .text(words)),
            result.verdictReasons.isEmpty
                ? .nothing
                : .tag("ul", ["class": "reasons"], result.verdictReasons.map { .tag("li", [:], .text($0)) }.group),
            .tag("p", ["class": "lead"], .text(result.sentence)),
            result.plan.description.map { .tag("p", ["class": "lead"], .text($0)) } ?? .nothing)
    }
}

extension RunResult {
    /// `2,000 requests per second for 30 s, in an open loop, against http://…`.
    var sentence: String {
        let open = plan.loop == .open ? "in an open loop" : "in a closed loop"
        let seconds = plan.seconds ?? durationSeconds
        let load = "\(plan.load) for \(seconds.rounded(toDecimals: 2).plain) s"
        return "\(load), \(open) over \(plan.connections.grouped) connections, against \(plan.url)."
    }
}

extension RunResult.Plan {
    /// What was asked for.
    var load: String {
        guard loop == .open, let first = stages.first else { return "As fast as it was answered" }
        let rates = stages.flatMap { [$0.fromPerSecond, $0.toPerSecond] }
        if rates.allSatisfy({ $0 == first.fromPerSecond }) { return "\(first.fromPerSecond.plain) requests per second" }
        let (lowest, highest) = (rates.min() ?? 0, rates.max() ?? 0)
        return "\(lowest.plain) to \(highest.plain) requests per second"
    }
}
