// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser

/// A number that only scenarios know; the raw values appear in thresholds.
enum ScenarioCount: String, CaseIterable, Hashable, Sendable {
    /// Requests to both endpoints of Apple's together, in either of its interfaces.
    case questions
    case verifyReceipt = "verify_receipt"
    case serverAPI = "server_api"
    /// Answers without a subscription, or with a subscription that is not active.
    case wrongStates = "wrong_states"

    var isOfCalls: Bool { self != .wrongStates }
}

/// A condition on a run: `p99<25ms`, `errors<=0.1%`, `rate>=5000`.
struct Threshold: Hashable, Sendable {
    let metric: Metric
    let comparison: Comparison
    /// In milliseconds, percent or requests per second.
    let bound: Double
    let expression: String

    enum Metric: Hashable, Sendable {
        /// Of the response, in percent.
        case percentile(Double)
        case mean
        case maximum
        /// Requests that failed or timed out, of all that were due.
        case errors
        case share(LoadOutcome)
        case rate
        case count(ScenarioCount)
    }

    enum Comparison: String, CaseIterable, Sendable {
        // Two characters first: `<` is the beginning of `<=`.
        case atMost = "<="
        case atLeast = ">="
        case below = "<"
        case above = ">"

        func holds(_ value: Double, _ bound: Double) -> Bool {
            switch self {
            case .atMost: value <= bound
            case .atLeast: value >= bound
            case .below: value < bound
            case .above: value > bound
            }
        }
    }
}

extension Threshold.Metric {
    /// `p50` to `p99.99`, `mean`, `max`, `errors`, `rate`, an outcome such as `shed`, or a count of scenarios.
    init?(_ name: Substring) {
        switch name {
        case "mean": self = .mean
        case "max": self = .maximum
        case "errors": self = .errors
        case "rate": self = .rate
        default:
            if let count = ScenarioCount(rawValue: String(name)) {
                self = .count(count)
            } else if let outcome = LoadOutcome(rawValue: String(name)) {
                self = .share(outcome)
            } else if name.hasPrefix("p"), let share = PlainNumber.read(name.dropFirst()), share <= 100 {
                self = .percentile(share)
            } else {
                return nil
            }
        }
    }

    var isOfScenarios: Bool { if case .count = self { true } else { false } }

    var unit: String {
        switch self {
        case .percentile, .mean, .maximum: "ms"
        case .errors, .share: "%"
        case .rate: "/s"
        case .count: ""
        }
    }

    /// Reads a bound; its unit must be one of this metric's, and is required if there is a choice.
    fileprivate func bound(_ text: Substring) -> Double? {
        switch self {
        case .percentile, .mean, .maximum:
            guard let last = text.utf8.last, last.decimalValue == nil else { return nil }
            return TimeSpan(argument: String(text)).map { $0.seconds * 1000 }
        case .errors, .share:
            return text.hasSuffix("%") ? PlainNumber.read(text.dropLast()) : PlainNumber.read(text).map { $0 * 100 }
        case .count: return PlainNumber.read(text)
        case .rate:
            guard case .perSecond(let rate) = RateOption(argument: String(text)) else { return nil }
            return rate
        }
    }
}

extension Threshold: ExpressibleByArgument {
    init?(argument: String) {
        let text = argument.filter { $0 != " " }
        for comparison in Comparison.allCases {
            guard let place = text.firstRange(of: comparison.rawValue) else { continue }
            guard let metric = Metric(text[..<place.lowerBound]), let bound = metric.bound(text[place.upperBound...])
            else { return nil }
            self.init(metric: metric, comparison: comparison, bound: bound, expression: text)
            return
        }
        return nil
    }

    /// Compares with the measurements; a missing measurement misses the threshold.
    func check(_ measurements: LoadMeasurements, counts: [ScenarioCount: Int] = [:]) -> RunResult.Threshold {
        check(value(measurements, counts), as: expression)
    }

    /// Compares with the calls to Apple from a moment of the run on.
    func check(_ calls: [ScenarioCount: Int], from moment: String) -> RunResult.Threshold {
        check(value(LoadMeasurements(), calls), as: "\(expression) from \(moment)")
    }

    private func check(_ value: Double?, as expression: String) -> RunResult.Threshold {
        RunResult.Threshold(
            expression: expression, measured: value, unit: metric.unit,
            met: value.map { comparison.holds($0, bound) } ?? false)
    }

    private func value(_ measurements: LoadMeasurements, _ scenario: [ScenarioCount: Int]) -> Double? {
        let counts = measurements.counts
        switch metric {
        case .percentile(let percentile): return measurements.response.milliseconds(atPercentile: percentile)
        case .mean: return measurements.response.mean
        case .maximum: return measurements.response.longest
        case .errors: return counts.intended > 0 ? 100 * Double(counts.errors) / Double(counts.intended) : nil
        case .share(let outcome):
            return counts.intended > 0 ? 100 * Double(counts[outcome]) / Double(counts.intended) : nil
        case .rate: return measurements.answersPerSecond
        case .count(let count): return scenario[count].map(Double.init)
        }
    }
}

extension RunResult.Threshold {
    /// The measurement and the condition, in a few words.
    var text: String {
        let name = expression.prefix { !"<>".contains($0) }
        let wanted = expression.dropFirst(name.count)
        guard let measured else { return "\(name) was not measured, wanted \(wanted)" }
        let space = unit == "ms" || unit == "%" ? " " : ""
        return "\(name) \(measured.fourDigits)\(space)\(unit), wanted \(wanted)"
    }
}

extension Double? {
    /// `12.3 ms`, or a dash.
    var millisecondsText: String { map { "\($0.fourDigits) ms" } ?? "–" }
}

extension Double {
    /// As a rate: whole, unless it is small.
    var asRate: String { self >= 10 || self == rounded() ? grouped(0) : fixed(2) }

    var fourDigits: String {
        switch magnitude {
        case 1000...: grouped(0)
        case 100...: fixed(1)
        case 10...: fixed(2)
        case 0: "0"
        default: fixed(3)
        }
    }
}
