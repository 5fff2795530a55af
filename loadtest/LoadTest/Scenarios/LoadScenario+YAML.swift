// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import AppleSimulator
internal import ArgumentParser
internal import FoundationEssentials
internal import Yams

extension LoadScenario {
    /// Reads a file; errors name it.
    static func read(_ path: String) throws(ScenarioFileError) -> LoadScenario {
        let name = URL(filePath: path).deletingPathExtension().lastPathComponent
        return try ScenarioFile.read(path) { text throws(ScenarioError) in try LoadScenario(yaml: text, name: name) }
    }

    private static let maximumBytes = 1 << 20
    private static let maximumEvents = 1000

    /// Reads a scenario; an unknown name is an error.
    init(yaml text: String, name: String) throws(ScenarioError) {
        guard let root = try Node.reading(text, maximumBytes: Self.maximumBytes) else {
            throw ScenarioError(line: nil, fault: .missing("title"))
        }
        let fields = try YAMLFields(root, of: "scenario", known: ["title", "fleet", "load", "events", "thresholds"])
        self.name = name
        title = try fields.required("title").text(of: "title")
        if let node = fields["fleet"] { fleet = try FleetShape(node) }
        load = try HTTPCommand(scenario: fields.required("load"))
        let fleet = fleet
        events = try (fields.list("events") ?? []).prefix(Self.maximumEvents)
            .map { node throws(ScenarioError) in try Event(node, fleet) }
            .sorted { $0.seconds < $1.seconds }
        thresholds = try (fields.list("thresholds") ?? []).map(Self.threshold)
    }

    private static func threshold(_ node: Node) throws(ScenarioError) -> Threshold {
        guard let threshold = Threshold(argument: try node.text(of: "thresholds")) else {
            throw node.wrongValue(of: "thresholds", needed: "p99<25ms, errors<1%, questions<=100 and the like")
        }
        return threshold
    }
}

extension FleetShape {
    fileprivate init(_ node: Node) throws(ScenarioError) {
        let fields = try YAMLFields(node, of: "fleet", known: ["gateways", "redis", "balancer", "apple", "settings"])
        gateways = try fields.integer("gateways", in: 1...10) ?? 1
        hasRedis = try fields.word("redis", as: Truth.self) == .true
        hasBalancer = try fields.word("balancer", as: Truth.self) == .true
        guard gateways == 1 || hasBalancer else { throw ScenarioError(line: node.line, fault: .missing("balancer")) }
        if let node = fields["apple"] { apple = node.scalar?.string == "none" ? nil : try Scenario(node) }
        if let node = fields["settings"] { settings = try Self.settings(node) }
    }

    private static func settings(_ node: Node) throws(ScenarioError) -> [String: String] {
        guard let mapping = node.mapping else { throw node.wrongValue(of: "settings", needed: "names with values") }
        var settings: [String: String] = [:]
        for (key, value) in mapping {
            let name = try key.text(of: "settings")
            guard name.hasPrefix("GATEWAY_") else {
                throw key.wrongValue(of: "settings", needed: "names such as GATEWAY_APPLE_DEADLINE")
            }
            settings[name] = try value.text(of: name)
        }
        return settings
    }

    private enum Truth: String, CaseIterable {
        case `true`, `false`
    }
}

extension HTTPCommand {
    /// The options of `http` for the load, with `_` for `-`.
    private static let scenarioOptions = [
        "rate", "stages", "duration", "requests", "warmup", "connections", "pipeline", "workers", "arrival", "keys",
        "zipf", "mix", "fresh_receipts", "receipt_bytes", "mode", "max_age", "seed", "timeout",
    ]

    /// The URL is not known before the fleet stands.
    private static let anyURL = "http://127.0.0.1"

    fileprivate init(scenario node: Node) throws(ScenarioError) {
        let fields = try YAMLFields(node, of: "load", known: Self.scenarioOptions)
        var arguments = [Self.anyURL]
        for name in fields.present(of: Self.scenarioOptions) {
            let option = "--" + name.replacing("_", with: "-")
            arguments += [option, try fields.required(name).text(of: name)]
        }
        do {
            self = try Self.parse(arguments)
        } catch {
            throw ScenarioError(line: node.line, fault: .wrongValue(of: "load", needed: Self.message(for: error)))
        }
    }
}

extension LoadScenario.Event {
    private static let actions = ["kill", "start", "restart", "apple"]

    /// `{at: 10s, kill: redis}`, `{at: 20s, start: redis}`, `{at: 5s, restart: 1}`, `{at: 8s, apple: {faults: [...]}}`.
    fileprivate init(_ node: Node, _ fleet: FleetShape) throws(ScenarioError) {
        let fields = try YAMLFields(node, of: "events", known: ["at"] + Self.actions)
        let time = try fields.required("at")
        guard let moment = TimeSpan(argument: try time.text(of: "at")) else {
            throw time.wrongValue(of: "at", needed: "a time such as 10s")
        }
        seconds = moment.seconds
        let present = fields.present(of: Self.actions)
        guard let name = present.first else {
            throw ScenarioError(line: node.line, fault: .missing(Self.actions.joined(separator: ", ")))
        }
        if present.count > 1 { throw ScenarioError(line: node.line, fault: .contradiction(present[0], present[1])) }
        action = try LoadScenario.Action(name, fields.required(name), fleet)
    }
}

extension LoadScenario.Action {
    fileprivate init(_ name: String, _ node: Node, _ fleet: FleetShape) throws(ScenarioError) {
        switch name {
        case "restart": self = .restartGateway(try node.integer(of: name, in: 1...fleet.gateways))
        case "apple":
            guard fleet.apple != nil else { throw node.wrongValue(of: name, needed: "a fleet that asks Apple") }
            self = .apple(try Scenario(node))
        default:
            guard fleet.hasRedis else { throw node.wrongValue(of: name, needed: "a fleet with redis") }
            _ = try node.word(of: name, as: Server.self)
            self = name == "kill" ? .killRedis : .startRedis
        }
    }

    private enum Server: String, CaseIterable {
        case redis
    }
}
