// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import AppleSimulator

/// A load on a fleet that is started for it, what happens meanwhile, and what is wanted: a file in
/// loadtest/scenarios/load.
struct LoadScenario: Sendable {
    /// The file's, without its ending.
    let name: String
    /// What it shows, in one sentence.
    var title: String
    var fleet = FleetShape()
    /// What the clients send.
    var load: HTTPCommand
    /// In the order of time.
    var events: [Event] = []
    var thresholds: [Wish] = []

    /// Something that is done to the fleet.
    struct Event: Hashable, Sendable {
        /// From the first request, the warm-up included.
        let seconds: Double
        let action: Action
    }

    enum Action: Hashable, Sendable {
        /// Redis ends at once, as in a crash.
        case killRedis
        /// Redis begins again, empty, where it was.
        case startRedis
        /// A gateway drains, ends and begins again where it was; counted from 1.
        case restartGateway(Int)
        /// Apple behaves so from now on.
        case apple(Scenario)
    }

    /// What is wanted.
    enum Wish: Hashable, Sendable {
        /// Of the load, as `http --threshold` takes it.
        case load(Threshold)
        /// Of Apple: `questions<=1000`, calls of both endpoints together.
        case questions(Threshold.Comparison, Double, expression: String)
    }
}

/// What stands between the clients and Apple.
struct FleetShape: Hashable, Sendable {
    var gateways = 1
    /// Whether they share a Redis.
    var hasRedis = false
    /// Whether HAProxy stands in front of them; clients ask the first gateway without it.
    var hasBalancer = false
    /// What Apple knows and does; nil if nobody asks Apple.
    var apple: Scenario? = Scenario.healthy
    /// What gateways are told beside that, by the names of their environment.
    var settings: [String: String] = [:]
}

extension LoadScenario.Action: CustomStringConvertible {
    /// As a mark in the result.
    var description: String {
        switch self {
        case .killRedis: "kill redis"
        case .startRedis: "start redis"
        case .restartGateway(let number): "restart gateway \(number)"
        case .apple: "Apple changes"
        }
    }
}

extension LoadScenario.Wish {
    /// Reads `p99<25ms` or `questions<=1000`.
    init?(_ text: String) {
        let text = text.filter { $0 != " " }
        guard text.hasPrefix(Self.questions) else {
            guard let threshold = Threshold(argument: text) else { return nil }
            self = .load(threshold)
            return
        }
        let rest = text.dropFirst(Self.questions.count)
        for comparison in Threshold.Comparison.allCases where rest.hasPrefix(comparison.rawValue) {
            guard let bound = PlainNumber.read(rest.dropFirst(comparison.rawValue.count)) else { return nil }
            self = .questions(comparison, bound, expression: text)
            return
        }
        return nil
    }

    private static let questions = "questions"
}
