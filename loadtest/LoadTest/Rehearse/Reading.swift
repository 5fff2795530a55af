// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import AppleSimulator

/// How Apple and the breaker in front of it stand at one moment; counts are since the beginning.
struct Reading: Hashable, Sendable {
    /// Questions that reached Apple.
    var asked = 0
    /// Those of them that were not answered as Apple answers.
    var failed = 0
    /// The state of production's circuit breaker; nil if the gateway did not say.
    var breaker: String?
    /// How often it opened.
    var trips = 0

    /// The beginning.
    init() {}

    init(_ apple: StatsDetails, _ scrape: Scrape?) {
        let outcomes = apple.outcomes.values.flatMap(\.self)
        asked = outcomes.map(\.value).reduce(0, +)
        failed = outcomes.filter { !$0.key.hasPrefix("status_") }.map(\.value).reduce(0, +)
        guard let scrape else { return }
        let states = scrape.samples("receipt_gateway_circuit_breaker_state", ["environment": "production"])
        breaker = states.first { $0.value == 1 }?.labels["state"]
        trips = Int(
            scrape.sum(
                "receipt_gateway_circuit_breaker_transitions_total", ["environment": "production", "to": "open"]))
    }
}
