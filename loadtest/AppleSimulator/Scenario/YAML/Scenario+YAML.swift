// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Yams

extension Scenario {
    /// Reads a scenario; an unknown name is an error.
    public init(yaml text: String) throws(ScenarioError) {
        try self.init(yaml: text, limits: SimulatorLimits())
    }

    init(yaml text: String, limits: SimulatorLimits) throws(ScenarioError) {
        guard text.utf8.count <= limits.maximumScenarioBytes else {
            throw ScenarioError(line: nil, fault: .tooLarge(maximumBytes: limits.maximumScenarioBytes))
        }
        guard let root = try Self.compose(text) else { return }
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

    /// An empty text is a scenario without anything.
    private static func compose(_ text: String) throws(ScenarioError) -> Node? {
        do {
            return try Yams.compose(yaml: text)
        } catch {
            throw ScenarioError(error)
        }
    }
}

extension ScenarioError {
    /// What Yams found.
    fileprivate init(_ error: any Error) {
        switch error as? YamlError {
        case .scanner(_, let problem, let mark, _), .parser(_, let problem, let mark, _),
            .composer(_, let problem, let mark, _):
            self.init(line: mark.line, fault: .notYAML(problem))
        case .duplicatedKeysInMapping(let keys, let context):
            self.init(
                line: context.mark.line,
                fault: .notYAML("the same name twice: " + keys.sorted().joined(separator: ", ")))
        default: self.init(line: nil, fault: .notYAML("not readable"))
        }
    }
}
