// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// One number of two runs, and whether they differ in it.
struct ComparedFigure: Encodable, Hashable, Sendable {
    let name: String
    /// `ms`, `/s`, `%`.
    let unit: String
    /// Of the whole runs.
    let a: Double?
    let b: Double?
    /// Of b to a; nil where there is nothing to divide by.
    let ratio: Double?
    /// The typical second of each run, what noise is judged by.
    var typicalA: Double?
    var typicalB: Double?
    /// Where typicalB - typicalA may lie.
    var lowest: Double?
    var highest: Double?
    var judgement = NoiseRule.Judgement.notJudged

    private enum CodingKeys: String, CodingKey {
        case name, unit, a, b, ratio, judgement
        case typicalA = "typical_second_a"
        case typicalB = "typical_second_b"
        case lowest = "difference_low"
        case highest = "difference_high"
    }

    init(_ name: String, unit: String, _ a: Double?, _ b: Double?) {
        self.name = name
        self.unit = unit
        self.a = a
        self.b = b
        if let a, let b, a > 0 { ratio = b / a } else { ratio = nil }
    }

    /// Whether more of it is better, worse, or neither.
    enum Wish: Sendable {
        case more, less
    }

    /// With what the seconds say.
    func judged(_ finding: NoiseRule.UpstreamResult?, by rule: NoiseRule, wish: Wish) -> ComparedFigure {
        var figure = self
        guard let finding else {
            figure.judgement = .tooFewSeconds
            return figure
        }
        (figure.typicalA, figure.typicalB) = (finding.a, finding.b)
        (figure.lowest, figure.highest) = (finding.interval.lowerBound, finding.interval.upperBound)
        switch finding.size {
        case .none:
            let isPassing = a.flatMap { a in b.map { b in rule.isPassing(a, b, beside: finding) } } ?? false
            figure.judgement = isPassing ? .fewSeconds : .withinNoise
        case .passing: figure.judgement = .fewSeconds
        case .real: figure.judgement = (finding.difference > 0) == (wish == .more) ? .better : .worse
        }
        return figure
    }
}
