// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ReceiptForge

/// The time until an answer, in seconds.
enum Latency: Hashable, Sendable {
    case fixed(Double)
    case uniform(from: Double, to: Double)
    /// A distribution like a busy server's: most answers near the median, a long tail up to `cap`. `sigma` is the
    /// standard deviation of the logarithm: at 0.8 one answer in a hundred takes six times the median.
    case lognormal(median: Double, sigma: Double, cap: Double)

    func draw(using generator: inout SplitMix64) -> Duration {
        switch self {
        case .fixed(let seconds): .seconds(seconds)
        case .uniform(let from, let to): .seconds(from + (to - from) * generator.fraction())
        case .lognormal(let median, let sigma, let cap): .seconds(min(cap, median * exp(sigma * generator.normal())))
        }
    }
}

extension SplitMix64 {
    /// Returns a number of the standard normal distribution (Box and Muller, 1958).
    fileprivate mutating func normal() -> Double {
        (-2 * log(1 - fraction())).squareRoot() * cos(2 * .pi * fraction())
    }
}

extension Latency {
    /// Reads a number of seconds, `{uniform: [0.05, 0.4]}`, or `{lognormal: {median: 0.12, sigma: 0.8, cap: 20}}`.
    init(_ value: YAMLValue, limits: SimulatorLimits) throws(ScenarioError) {
        let seconds = 0...(limits.maximumWait / .seconds(1))
        if value.scalar != nil {
            self = .fixed(try value.number(in: seconds))
            return
        }
        let choice = try YAMLChoice(value, known: ["fixed", "lognormal", "uniform"])
        let value = try choice.required()
        switch choice.name {
        case "fixed": self = .fixed(try value.number(in: seconds))
        case "uniform": self = try Self.uniform(value, in: seconds)
        default: self = try Self.lognormal(value, in: seconds)
        }
    }

    private static func uniform(_ value: YAMLValue, in seconds: ClosedRange<Double>) throws(ScenarioError) -> Latency {
        let bounds = try value.list().map { bound throws(ScenarioError) in try bound.number(in: seconds) }
        guard bounds.count == 2, bounds[0] <= bounds[1] else {
            throw value.wrong(needed: "two numbers of seconds, the smaller first")
        }
        return .uniform(from: bounds[0], to: bounds[1])
    }

    private static func lognormal(_ value: YAMLValue, in seconds: ClosedRange<Double>) throws(ScenarioError) -> Latency
    {
        let fields = try YAMLFields(value, known: ["median", "sigma", "cap"])
        return .lognormal(
            median: try fields.required("median").number(in: seconds),
            sigma: try fields.required("sigma").number(in: 0...5),
            cap: try fields.required("cap").number(in: seconds))
    }
}
