// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Yams

/// The faults and knowledge of the simulated servers, read from YAML; see loadtest/scenarios.
public struct Scenario: Hashable, Sendable {
    /// The seed of all random decisions.
    var seed: UInt64 = 1
    /// The password that receipts with subscriptions require; nil accepts any, and none.
    var sharedSecret: String?
    /// The number of seconds for which a `latest_receipt` is reused before it is issued and signed again. Dates in
    /// receipts have whole seconds, so 1 signs each time.
    var reissueSeconds: Int64 = 1
    /// Apple's knowledge beyond the receipts.
    var stories = Stories()
    /// The faults by time.
    var phases: [Phase] = []

    /// A scenario without faults: every answer is correct and immediate.
    public static let healthy = Scenario()
}

extension Scenario {
    /// Reads a scenario; an unknown name is an error.
    public init(yaml text: String) throws(ScenarioError) {
        try self.init(yaml: text, limits: SimulatorLimits())
    }

    init(yaml text: String, limits: SimulatorLimits) throws(ScenarioError) {
        guard let root = try Node.reading(text, maximumBytes: limits.maximumScenarioBytes) else {
            // An empty text is an empty scenario.
            self.init()
            return
        }
        try self.init(root, limits: limits)
    }

    /// Reads a scenario within another text.
    package init(_ root: Node) throws(ScenarioError) {
        try self.init(root, limits: SimulatorLimits())
    }

    private init(_ root: Node, limits: SimulatorLimits) throws(ScenarioError) {
        let fields = try YAMLFields(
            root, of: "scenario", known: ["seed", "shared_secret", "reissue_seconds", "stories", "faults"])
        seed = UInt64(try fields.integer("seed", in: 0...Int.max) ?? 1)
        sharedSecret = try fields.text("shared_secret")
        reissueSeconds = Int64(try fields.integer("reissue_seconds", in: 1...86_400) ?? 1)
        if let stories = fields["stories"] { self.stories = try Stories(stories) }
        let phases = try fields.list("faults") ?? []
        guard phases.count <= limits.maximumPhases else {
            throw ScenarioError(line: fields["faults"]?.line, fault: .tooManyPhases(maximum: limits.maximumPhases))
        }
        self.phases = try phases.map { node throws(ScenarioError) in try Phase(node, limits: limits) }
    }
}
