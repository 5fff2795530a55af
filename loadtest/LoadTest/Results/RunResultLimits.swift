// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import JSON

/// The most that a result may hold, so that whoever sends one cannot make a reader work for ever.
struct RunResultLimits: Sendable {
    /// Of the file: a day's timeline takes a third of it.
    var bytes = 64 << 20
    /// Members and elements, all together.
    var values = 4_000_000
    /// Of the timeline: a day.
    var seconds = 86_400
    var stages = 1000
    var outcomes = 64
    var percentiles = 10_000
    var marks = 1000
    var series = 2000
    var points = 86_400
    var thresholds = 100
    /// Reasons, arguments, labels, statuses, errors, kinds of requests, cores.
    var entries = 10_000
    /// Bytes of one name, reason, argument or address.
    var text = 8192
    /// Larger numbers cannot be told apart from their neighbours in JSON.
    var number = 9e15

    var json: JSONValue.Limits { JSONValue.Limits(bytes: bytes, depth: 8, values: values) }

    /// Throws the first rule that a result breaks.
    func check(_ result: RunResult) throws(RunResultFault) {
        try checkSizes(of: result)
        try checkTexts(of: result)
        try checkNumbers(of: result)
        try checkOrder(of: result)
    }

    // MARK: - How many

    private func checkSizes(of result: RunResult) throws(RunResultFault) {
        try check(result.timeline.count, seconds, "timeline")
        try check(result.plan.stages.count, stages, "plan.stages")
        try check(result.outcomes.count, outcomes, "outcomes")
        try check(result.marks.count, marks, "marks")
        try check(result.metrics.count, series, "metrics")
        try check(result.thresholds.count, thresholds, "thresholds")
        try check(result.verdictReasons.count, entries, "verdict_reasons")
        try check(result.environment.arguments.count, entries, "environment.arguments")
        try check(result.environment.allowedCores.count, entries, "environment.allowed_cores")
        try check(result.statuses.count, entries, "statuses")
        try check(result.errors.count, entries, "errors")
        try check(result.plan.mix.count, entries, "plan.mix")
        try check(Set(result.timeline.flatMap(\.outcomes.keys)).count, outcomes, "timeline: outcomes")
        for (name, distribution) in result.distributions {
            try check(distribution.percentiles.count, percentiles, "\(name).percentiles")
        }
        for (index, series) in result.metrics.enumerated() {
            try check(series.points.count, points, "metrics[\(index)].points")
            try check(series.labels.count, entries, "metrics[\(index)].labels")
        }
    }

    private func checkTexts(of result: RunResult) throws(RunResultFault) {
        for (place, texts) in result.texts where texts.contains(where: { $0.utf8.count > text }) {
            throw .tooLong(place, most: text)
        }
    }

    private func check(_ count: Int, _ most: Int, _ place: String) throws(RunResultFault) {
        guard count <= most else { throw .tooMany(place, most: most) }
    }

    // MARK: - How large

    private func checkNumbers(of result: RunResult) throws(RunResultFault) {
        for (place, number) in result.numbers {
            guard number.isFinite, number >= 0 else { throw .number(place, "must be 0 or more") }
            guard number <= self.number else { throw .number(place, "is too large") }
        }
        for (index, series) in result.metrics.enumerated() {
            for point in series.points {
                guard (0...number).contains(point.x) else { throw .number("metrics[\(index)]", "a moment cannot be") }
                guard point.y.magnitude <= number else { throw .number("metrics[\(index)]", "a value is too large") }
            }
        }
    }

    // MARK: - In which order

    private func checkOrder(of result: RunResult) throws(RunResultFault) {
        guard result.timeline.map(\.second).isRising, result.timeline.last.map({ $0.second < seconds }) ?? true else {
            throw .number("timeline", "seconds must rise, and stay below \(seconds.grouped)")
        }
        for (name, distribution) in result.distributions {
            guard distribution.percentiles.map(\.x).isRising, distribution.percentiles.allSatisfy({ $0.x <= 100 })
            else {
                throw .number("\(name).percentiles", "must rise, up to 100")
            }
        }
        for (index, series) in result.metrics.enumerated() where !series.points.map(\.x).isRising {
            throw .number("metrics[\(index)].points", "must be in the order of time")
        }
    }
}

extension [Double] {
    fileprivate var isRising: Bool { zip(self, dropFirst()).allSatisfy(<) }
}

extension [Int] {
    fileprivate var isRising: Bool { zip(self, dropFirst()).allSatisfy(<) }
}

extension RunResult {
    fileprivate var distributions: [(String, Distribution)] {
        [("response", response), ("service", service), ("generator.send_lag", generator.sendLag)]
            + outcomes.enumerated().map { ("outcomes[\($0)].response", $1.response) }
    }

    /// Every text, and where it stands.
    fileprivate var texts: [(String, [String])] {
        [
            ("verdict_reasons", verdictReasons),
            ("plan", [plan.url] + [plan.name, plan.description].compactMap(\.self) + plan.mix.keys),
            ("environment.arguments", environment.arguments),
            (
                "environment",
                [environment.version, environment.cpu, environment.kernel] + [environment.revision].compactMap(\.self)
            ),
            ("outcomes", outcomes.map(\.outcome)), ("timeline", timeline.flatMap(\.outcomes.keys)),
            ("statuses", Array(statuses.keys)), ("errors", Array(errors.keys)), ("marks", marks.map(\.text)),
            ("metrics", metrics.flatMap { [$0.name, $0.unit ?? ""] + $0.labels.flatMap { [$0, $1] } }),
            ("thresholds", thresholds.flatMap { [$0.expression, $0.unit] }),
        ]
    }

    /// Every number that cannot be below zero, and where it stands.
    fileprivate var numbers: [(String, Double)] {
        distributions.flatMap { name, distribution in distribution.numbers.map { (name, $0) } }
            + timeline.enumerated().flatMap { index, row in row.numbers.map { ("timeline[\(index)]", $0) } }
            + plan.numbers.map { ("plan", $0) } + totals.numbers.map { ("totals", $0) }
            + outcomes.map { ("outcomes", Double($0.count)) } + marks.map { ("marks", $0.atSeconds) }
            + statuses.values.map { ("statuses", Double($0)) } + errors.values.map { ("errors", Double($0)) }
            + [generator.cpuSeconds, generator.cpuShare, Double(generator.lateSends)].map { ("generator", $0) }
            + [Double(environment.cores), Double(environment.memoryBytes)].map { ("environment", $0) }
            + environment.allowedCores.map { ("environment.allowed_cores", Double($0)) }
            + thresholds.compactMap { threshold in threshold.measured.map { ("thresholds", $0) } }
            + [("duration_seconds", durationSeconds)]
    }
}

extension RunResult.Distribution {
    fileprivate var numbers: [Double] {
        let figures = [mean, minimum, maximum, p50, p75, p90, p95, p99, p99_9, p99_99].compactMap(\.self)
        return figures + [Double(count)] + percentiles.flatMap { [$0.x, $0.y] }
    }
}

extension RunResult.Second {
    fileprivate var numbers: [Double] {
        let counts = [second, sent, answered, failed, shed] + outcomes.values
        return counts.map(Double.init) + [target, p50, p90, p99, maximum, sendLagP99].compactMap(\.self)
    }
}

extension RunResult.Plan {
    fileprivate var numbers: [Double] {
        stages.flatMap { [$0.fromPerSecond, $0.toPerSecond, $0.seconds] } + Array(mix.values)
            + [warmupSeconds, zipf, timeoutMilliseconds] + [connections, workers, keys].map(Double.init)
    }
}

extension RunResult.Totals {
    fileprivate var numbers: [Double] {
        let counts = [intended, sent, answered, failed, shed, unanswered, sentBytes, receivedBytes]
        return counts.map(Double.init) + [achievedPerSecond] + [targetPerSecond].compactMap(\.self)
    }
}
