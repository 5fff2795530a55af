// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import ReceiptForge
internal import Receipts

/// A scenario that is being played. A value: time is an argument.
struct Play: Sendable {
    let scenario: Scenario
    /// When it began.
    let start: Timestamp
    private var generator: SplitMix64
    /// How many requests each phase still takes; nil for any number.
    private var remaining: [Int?]

    init(_ scenario: Scenario, startingAt start: Timestamp) {
        self.scenario = scenario
        self.start = start
        generator = SplitMix64(seed: scenario.seed, purpose: "faults")
        remaining = scenario.phases.map(\.requests)
    }

    /// What happens to the next request: each phase that applies adds what it says, the earlier one where two say the
    /// same. A phase that adds nothing is not counted as having taken the request.
    mutating func treatment(at endpoint: Endpoint, _ now: Timestamp) -> Treatment {
        var treatment = Treatment()
        for (index, phase) in scenario.phases.enumerated()
        where isOn(index, at: endpoint, now) && treatment.lacksSomething(of: phase) && chance(phase.share) {
            remaining[index] = remaining[index].map { $0 - 1 }
            treatment.add(phase, using: &generator)
        }
        return treatment
    }

    /// Whether the next connection is shown a certificate that does not verify: if that is what the first phase with a
    /// fault says. Such a connection counts as a request, because none will come through it.
    mutating func showsWrongCertificate(at endpoint: Endpoint, _ now: Timestamp) -> Bool {
        let first = scenario.phases.indices.first { isOn($0, at: endpoint, now) && scenario.phases[$0].fault != nil }
        guard let first, scenario.phases[first].fault == .tls, chance(scenario.phases[first].share) else {
            return false
        }
        remaining[first] = remaining[first].map { $0 - 1 }
        return true
    }

    private func isOn(_ index: Int, at endpoint: Endpoint, _ now: Timestamp) -> Bool {
        let phase = scenario.phases[index]
        let elapsed = Double(now.millisecondsSince1970 - start.millisecondsSince1970) / 1000
        return remaining[index] != 0 && phase.seconds.contains(elapsed) && (phase.endpoint ?? endpoint) == endpoint
    }

    private mutating func chance(_ share: Double) -> Bool {
        share >= 1 || generator.fraction() < share
    }
}

/// What happens to one request.
struct Treatment: Hashable, Sendable {
    /// Nil for none.
    private(set) var fault: ServerFault?
    /// How long the answer takes; nil for no longer than it does.
    private(set) var latency: Duration?
    /// Header fields that are added.
    private(set) var headers: [Phase.HeaderField]?

    fileprivate func lacksSomething(of phase: Phase) -> Bool {
        (fault == nil && phase.fault != nil) || (latency == nil && phase.latency != nil)
            || (headers == nil && phase.headers != nil)
    }

    fileprivate mutating func add(_ phase: Phase, using generator: inout SplitMix64) {
        fault = fault ?? phase.fault
        latency = latency ?? phase.latency?.draw(using: &generator)
        headers = headers ?? phase.headers
    }
}
