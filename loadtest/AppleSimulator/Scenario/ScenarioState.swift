// SPDX-License-Identifier: Apache-2.0

internal import ReceiptForge
internal import Receipts

/// The state of a running scenario, as a value: time is an argument.
struct ScenarioState: Sendable {
    let scenario: Scenario
    let start: Timestamp
    private var generator: SplitMix64
    /// The number of requests left for each phase; nil for any number.
    private var remaining: [Int?]

    init(_ scenario: Scenario, startingAt start: Timestamp) {
        self.scenario = scenario.starting(at: start)
        self.start = start
        generator = SplitMix64(seed: scenario.seed, purpose: "faults")
        remaining = scenario.phases.map(\.requests)
    }

    /// Returns the effects of the next request: each active phase adds its effects, and the earlier phase wins. A
    /// phase that adds nothing does not count the request.
    mutating func effects(
        at endpoint: Endpoint, of api: AppleAPI = .verifyReceipt, _ now: Timestamp
    ) -> Effects {
        var effects = Effects()
        for (index, phase) in scenario.phases.enumerated()
        where (phase.api ?? api) == api && isOn(index, at: endpoint, now) && effects.lacksSomething(of: phase)
            && chance(phase.share)
        {
            remaining[index] = remaining[index].map { $0 - 1 }
            effects.add(phase, using: &generator)
        }
        return effects
    }

    /// Returns true if the next connection gets an invalid certificate, as decided by the first phase with a fault.
    /// Such a connection counts as a request, because none will come through it.
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

/// The effects of a scenario on one request.
struct Effects: Hashable, Sendable {
    private(set) var fault: ServerFault?
    private(set) var latency: Duration?
    private(set) var headers: [ScenarioPhase.HeaderField]?

    fileprivate func lacksSomething(of phase: ScenarioPhase) -> Bool {
        (fault == nil && phase.fault != nil) || (latency == nil && phase.latency != nil)
            || (headers == nil && phase.headers != nil)
    }

    fileprivate mutating func add(_ phase: ScenarioPhase, using generator: inout SplitMix64) {
        fault = fault ?? phase.fault
        latency = latency ?? phase.latency?.draw(using: &generator)
        headers = headers ?? phase.headers
    }
}
