// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import AppleSimulator

/// A file in loadtest/scenarios/load: a fleet, the load on it, events meanwhile, and thresholds.
struct LoadScenario: Sendable {
    /// The name of the file, without its ending.
    let name: String
    /// The purpose, in one sentence.
    var title: String
    var fleet = FleetShape()
    var load: HTTPCommand
    var events: [Event] = []
    var thresholds: [Threshold] = []

    struct Event: Hashable, Sendable {
        /// The time from the first request, the warm-up included.
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
        /// Apple's servers change their behaviour.
        case apple(Scenario)
    }
}

extension LoadScenario.Action: CustomStringConvertible {
    /// The text of a mark in the result.
    var description: String {
        switch self {
        case .killRedis: "kill redis"
        case .startRedis: "start redis"
        case .restartGateway(let number): "restart gateway \(number)"
        case .apple: "Apple changes"
        }
    }
}
