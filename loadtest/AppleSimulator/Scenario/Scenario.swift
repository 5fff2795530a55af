// SPDX-License-Identifier: Apache-2.0

internal import Receipts

/// The faults and knowledge of the simulated servers, read from YAML; see loadtest/scenarios.
package struct Scenario: Hashable, Sendable {
    var seed: UInt64 = 1
    /// The password that receipts with subscriptions require; nil accepts any, and none.
    var sharedSecret: String?
    /// The number of seconds for which a `latest_receipt` is reused before it is issued and signed again. Dates in
    /// receipts have whole seconds, so 1 signs each time.
    var reissueSeconds: Int64 = 1
    /// The seconds by which the servers' clock is ahead of the simulator's; it dates answers and checks tokens.
    var clockSkewSeconds: Double = 0
    /// The share of Apple's hourly limits of the Server API that is enforced; nil for none.
    var serverAPILimitShare: Double?
    /// The apps that were never released: the Server API answers 401 about them in production.
    var unreleasedApps: Set<String> = []
    /// The apps that the App Store does not know: error 4040003.
    var unknownApps: Set<String> = []
    var stories = Stories()
    var phases: [ScenarioPhase] = []

    func starting(at start: Timestamp) -> Scenario {
        var scenario = self
        scenario.phases = phases.map { $0.starting(at: start) }
        return scenario
    }

    /// A scenario without faults: every answer is correct and immediate.
    package static let healthy = Scenario()
}

extension Scenario {
    /// Reads a scenario; an unknown name is an error.
    package init(yaml text: String, limits: SimulatorLimits = SimulatorLimits()) throws(ScenarioError) {
        guard let root = try YAMLValue.reading(text, maximumBytes: limits.maximumScenarioBytes, as: "scenario") else {
            // An empty text is an empty scenario.
            self.init()
            return
        }
        try self.init(root, limits: limits)
    }

    /// Reads a scenario within another text.
    package init(_ root: YAMLValue, limits: SimulatorLimits = SimulatorLimits()) throws(ScenarioError) {
        let fields = try YAMLFields(
            root,
            known: [
                "seed", "shared_secret", "reissue_seconds", "clock_skew_seconds", "server_api_limits",
                "unreleased_apps", "unknown_apps", "stories", "faults",
            ])
        seed = UInt64(try fields["seed"]?.integer(in: 0...Int.max) ?? 1)
        sharedSecret = try fields["shared_secret"]?.text()
        reissueSeconds = Int64(try fields["reissue_seconds"]?.integer(in: 1...86_400) ?? 1)
        clockSkewSeconds = try fields["clock_skew_seconds"]?.number(in: -86_400...86_400) ?? 0
        serverAPILimitShare = try fields["server_api_limits"].flatMap { value throws(ScenarioError) in
            try Self.limitShare(value)
        }
        unreleasedApps = try fields.texts("unreleased_apps")
        unknownApps = try fields.texts("unknown_apps")
        if let stories = fields["stories"] { self.stories = try Stories(stories) }
        let phases = try fields["faults"]?.list() ?? []
        guard phases.count <= limits.maximumPhases else {
            throw ScenarioError(line: fields["faults"]?.line, fault: .tooManyPhases(maximum: limits.maximumPhases))
        }
        self.phases = try phases.map { value throws(ScenarioError) in try ScenarioPhase(value, limits: limits) }
    }

    /// Reads `true` for Apple's limits, `false` for none, or `{share: 0.5}`.
    private static func limitShare(_ value: YAMLValue) throws(ScenarioError) -> Double? {
        if value.scalar != nil { return try value.flag() ? 1 : nil }
        return try YAMLFields(value, known: ["share"]).required("share").number(in: 0...1)
    }
}

/// The reason why a text is no valid scenario, with its line.
package struct ScenarioError: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Fault: Hashable, Sendable {
        case tooLarge(maximumBytes: Int)
        case tooManyPhases(maximum: Int)
        case notYAML(String)
        /// A name that is unknown in its place.
        case unknownName(String, known: [String])
        case missing(String)
        /// A value that its name does not accept.
        case wrongValue(of: String, needed: String)
        /// Two names with the same or the opposite meaning.
        case contradiction(String, String)
    }

    /// Counted from 1; nil if no line is at fault.
    package let line: Int?
    package let fault: Fault

    package init(line: Int?, fault: Fault) {
        self.line = line
        self.fault = fault
    }

    /// One sentence that says how to fix the scenario, without any of its values.
    package var description: String {
        (line.map { "line \($0): " } ?? "") + reason
    }

    private var reason: String {
        switch fault {
        case .tooLarge(let maximumBytes): "a scenario may have at most \(maximumBytes) bytes"
        case .tooManyPhases(let maximum): "a scenario may have at most \(maximum) phases"
        case .notYAML(let problem): "not valid YAML: \(problem)"
        case .unknownName(let name, let known):
            "'\(name)' is unknown here; known are \(known.joined(separator: ", "))"
        case .missing(let name): "'\(name)' is missing"
        case .wrongValue(let name, let needed): "'\(name)' takes \(needed)"
        case .contradiction(let first, let second): "'\(first)' and '\(second)' cannot be combined"
        }
    }
}
