// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser

/// `--rate`: requests per second over all workers, or as many as are answered.
enum RateOption: Hashable, Sendable {
    case perSecond(Double)
    /// A closed loop: each connection sends as soon as its answer is there.
    case max
}

extension RateOption: ExpressibleByArgument {
    /// Reads `5000`, `2.5`, `10k` or `max`.
    init?(argument: String) {
        if argument == "max" {
            self = .max
            return
        }
        let isThousands = argument.hasSuffix("k")
        guard let number = PlainNumber.read(argument.dropLast(isThousands ? 1 : 0)), number > 0 else { return nil }
        self = .perSecond(isThousands ? number * 1000 : number)
    }
}

/// `--stages`: how long it takes to get to which rate, one after the other.
struct StagesOption: Hashable, Sendable {
    let steps: [Step]

    struct Step: Hashable, Sendable {
        let seconds: Double
        /// At its end.
        let rate: Double
    }

    /// The stages, of which each begins where the one before ended.
    ///
    /// - Parameter rate: at the beginning.
    func curve(from rate: Double) -> RateCurve {
        var rate = rate
        return RateCurve(
            stages: steps.map { step in
                defer { rate = step.rate }
                return RateStage(from: rate, to: step.rate, seconds: step.seconds)
            })
    }

    private static let maximumSteps = 1000
}

extension StagesOption: ExpressibleByArgument {
    /// Reads `10s:1000,30s:5000`.
    init?(argument: String) {
        let parts = argument.split(separator: ",", omittingEmptySubsequences: false)
        let steps = parts.compactMap { Step($0) }
        guard steps.count == parts.count, steps.count <= Self.maximumSteps else { return nil }
        self.init(steps: steps)
    }
}

extension StagesOption.Step {
    fileprivate init?(_ text: Substring) {
        let words = text.split(separator: ":", omittingEmptySubsequences: false)
        guard words.count == 2, let span = TimeSpan(argument: String(words[0])), span.seconds > 0 else { return nil }
        guard words[1] != "0" else {
            self.init(seconds: span.seconds, rate: 0)
            return
        }
        guard case .perSecond(let rate) = RateOption(argument: String(words[1])) else { return nil }
        self.init(seconds: span.seconds, rate: rate)
    }
}
