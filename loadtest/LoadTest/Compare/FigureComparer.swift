// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// Which figures of two runs are compared, and how each is judged.
struct FigureComparer: Sendable {
    private let a: RunResult
    private let b: RunResult
    private let secondsA: MeasuredSeconds
    private let secondsB: MeasuredSeconds
    private let isSamePlan: Bool

    /// Latencies and rates that differ by less do not matter.
    static let smallestShare = 0.05
    /// Shares of requests that differ by less do not matter: a tenth of a percent.
    static let smallestPoints = 0.1

    init(_ a: RunResult, _ b: RunResult, isSamePlan: Bool) {
        self.a = a
        self.b = b
        self.isSamePlan = isSamePlan
        secondsA = MeasuredSeconds(a)
        secondsB = MeasuredSeconds(b)
    }

    var figures: [ComparedFigure] {
        [
            judged(
                figure("answered", "/s") { $0.totals.achievedPerSecond },
                NoiseRule(typical: .mean, smallestShare: Self.smallestShare),
                wish: .more
            ) { Double($0.answered) },
            latency("response p50", { $0.response.p50 }, \.p50), latency("response p90", { $0.response.p90 }, \.p90),
            latency("response p99", { $0.response.p99 }, \.p99),
            figure("response p99.9", "ms") { $0.response.p99_9 },
            figure("slowest response", "ms") { $0.response.maximum },
            figure("service p50", "ms") { $0.service.p50 }, figure("service p99", "ms") { $0.service.p99 },
            share("failed", { $0.totals.failed }, \.failed), share("shed", { $0.totals.shed }, \.shed),
            figure("unanswered", "") { Double($0.totals.unanswered) },
            figure("send lag p99", "ms") { $0.generator.sendLag.p99 },
        ]
    }

    private func figure(_ name: String, _ unit: String, _ value: (RunResult) -> Double?) -> ComparedFigure {
        ComparedFigure(name, unit: unit, value(a), value(b))
    }

    private func latency(
        _ name: String, _ value: (RunResult) -> Double?, _ second: (RunResult.Second) -> Double?
    ) -> ComparedFigure {
        judged(
            figure(name, "ms", value), NoiseRule(typical: .median, smallestShare: Self.smallestShare), wish: .less,
            second)
    }

    private func share(
        _ name: String, _ count: (RunResult) -> Int, _ second: (RunResult.Second) -> Int
    ) -> ComparedFigure {
        let figure = figure(name, "%") { run in
            run.totals.sent > 0 ? 100 * Double(count(run)) / Double(run.totals.sent) : nil
        }
        return judged(figure, NoiseRule(typical: .mean, smallest: Self.smallestPoints), wish: .less) {
            $0.share(of: second($0)).map { 100 * $0 }
        }
    }

    private func judged(
        _ figure: ComparedFigure, _ rule: NoiseRule, wish: ComparedFigure.Wish,
        _ value: (RunResult.Second) -> Double?
    ) -> ComparedFigure {
        let (first, second) = (secondsA.values(value), secondsB.values(value))
        if isSamePlan, first.count == second.count, Set(first.keys) == Set(second.keys) {
            let order = first.keys.sorted()
            let pair = (order.compactMap { first[$0] }, order.compactMap { second[$0] })
            return figure.judged(rule.finding(pair.0, pair.1, arePaired: true), by: rule, wish: wish)
        }
        let sorted = [first, second].map { values in values.sorted { $0.key < $1.key }.map(\.value) }
        return figure.judged(rule.finding(sorted[0], sorted[1], arePaired: false), by: rule, wish: wish)
    }
}
