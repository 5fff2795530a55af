// SPDX-License-Identifier: Apache-2.0

internal import AppleSimulator
internal import ArgumentParser
internal import FoundationEssentials

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
        /// Conditions on the requests to Apple from then on, until the next event.
        var calls: [Threshold] = []
    }

    enum Action: Hashable, Sendable {
        /// Redis ends at once, as in a crash; connections to verifyReceipt are refused, as if its server were gone.
        case kill(Server)
        /// Redis begins again where it was: empty, or with what its append-only file has. verifyReceipt accepts
        /// connections again.
        case start(Server)
        /// A gateway drains, ends and begins again where it was; counted from 1.
        case restartGateway(Int)
        /// Apple's servers change their behaviour.
        case apple(Scenario)
    }

    enum Server: String, CaseIterable, Sendable {
        case redis
        case verifyReceipt = "verify_receipt"
    }
}

extension LoadScenario.Action: CustomStringConvertible {
    /// The text of a mark in the result.
    var description: String {
        switch self {
        case .kill(let server): "kill \(server.rawValue)"
        case .start(let server): "start \(server.rawValue)"
        case .restartGateway(let number): "restart gateway \(number)"
        case .apple: "Apple changes"
        }
    }
}

extension LoadScenario {
    /// Reads a file; errors name it.
    static func read(_ path: String) throws -> LoadScenario {
        let name = URL(filePath: path).deletingPathExtension().lastPathComponent
        let text = try FileError.text(of: path)
        return try ContentError.naming(path) { () throws(ScenarioError) in try LoadScenario(yaml: text, name: name) }
    }

    private static let maximumBytes = 1 << 20
    private static let maximumEvents = 1000

    /// Reads a scenario; an unknown name is an error.
    init(yaml text: String, name: String) throws(ScenarioError) {
        guard let root = try YAMLValue.reading(text, maximumBytes: Self.maximumBytes, as: "scenario") else {
            throw ScenarioError(line: nil, fault: .missing("title"))
        }
        let fields = try YAMLFields(root, known: ["title", "fleet", "load", "events", "thresholds"])
        self.name = name
        title = try fields.required("title").text()
        if let value = fields["fleet"] { fleet = try FleetShape(value) }
        load = try HTTPCommand(scenario: fields.required("load"))
        let fleet = fleet
        events = try (fields["events"]?.list() ?? []).prefix(Self.maximumEvents)
            .map { value throws(ScenarioError) in try Event(value, fleet) }
            .sorted { $0.seconds < $1.seconds }
        thresholds = try (fields["thresholds"]?.list() ?? []).map(Threshold.init(of:))
    }
}

extension Threshold {
    fileprivate init(of value: YAMLValue) throws(ScenarioError) {
        guard let threshold = Threshold(argument: try value.text()) else {
            throw value.wrong(needed: "p99<25ms, errors<1%, questions<=100 and the like")
        }
        self = threshold
    }

    /// Reads a condition on the requests to Apple.
    fileprivate init(calls value: YAMLValue) throws(ScenarioError) {
        try self.init(of: value)
        guard case .count(let count) = metric, count.isOfCalls else {
            throw value.wrong(needed: "verify_receipt<=3, server_api>0, questions<=100 and the like")
        }
    }
}

extension FleetShape {
    fileprivate init(_ value: YAMLValue) throws(ScenarioError) {
        let fields = try YAMLFields(
            value, known: ["gateways", "redis", "balancer", "apple", "server_api", "settings"])
        gateways = try fields["gateways"]?.integer(in: 1...10) ?? 1
        if let value = fields["redis"] { try readRedis(value) }
        hasBalancer = try fields["balancer"]?.flag() ?? false
        guard gateways == 1 || hasBalancer else { throw ScenarioError(line: value.line, fault: .missing("balancer")) }
        if let value = fields["apple"] { apple = value.scalar == "none" ? nil : try Scenario(value) }
        hasServerAPI = try fields["server_api"]?.flag() ?? false
        if hasServerAPI, apple == nil {
            throw ScenarioError(line: value.line, fault: .contradiction("server_api", "apple"))
        }
        if let value = fields["settings"] { settings = try Self.settings(value) }
    }

    private mutating func readRedis(_ value: YAMLValue) throws(ScenarioError) {
        guard value.scalar == nil else { return hasRedis = try value.flag() }
        let fields = try YAMLFields(value, known: ["appendfsync"])
        appendFsync = try fields["appendfsync"]?.word(as: AppendOnlyFile.Fsync.self)
        hasRedis = true
    }

    private static func settings(_ value: YAMLValue) throws(ScenarioError) -> [String: String] {
        var settings: [String: String] = [:]
        for (key, value) in try value.namedValues() {
            let name = try key.text()
            guard name.hasPrefix("GATEWAY_") else { throw key.wrong(needed: "names such as GATEWAY_APPLE_DEADLINE") }
            settings[name] = try value.text()
        }
        return settings
    }
}

extension HTTPCommand {
    /// The options of `http` for the load, with `_` for `-`.
    private static let scenarioOptions = [
        "rate", "stages", "duration", "requests", "warmup", "connections", "pipeline", "workers", "arrival", "keys",
        "customers", "zipf", "mix", "fresh_receipts", "notifications", "bundle_id", "receipt_bytes", "mode", "max_age",
        "seed", "timeout",
    ]

    /// The URL is not known before the fleet stands.
    private static let anyURL = "http://127.0.0.1"

    fileprivate init(scenario value: YAMLValue) throws(ScenarioError) {
        let fields = try YAMLFields(value, known: Self.scenarioOptions)
        var arguments = [Self.anyURL]
        for name in fields.present(of: Self.scenarioOptions) {
            let option = "--" + name.replacing("_", with: "-")
            arguments += [option, try fields.required(name).text()]
        }
        do {
            self = try Self.parse(arguments)
        } catch {
            throw value.wrong(needed: Self.message(for: error))
        }
    }
}

extension LoadScenario.Event {
    private static let actions = ["kill", "start", "restart", "apple"]

    /// `{at: 10s, kill: redis}`, `{at: 20s, start: redis}`, `{at: 5s, restart: 1}`, `{at: 8s, apple: {faults: [...]}}`,
    /// each also with `calls: [server_api>0]`.
    fileprivate init(_ value: YAMLValue, _ fleet: FleetShape) throws(ScenarioError) {
        let fields = try YAMLFields(value, known: ["at", "calls"] + Self.actions)
        let time = try fields.required("at")
        guard let moment = TimeSpan(argument: try time.text()) else {
            throw time.wrong(needed: "a time such as 10s")
        }
        seconds = moment.seconds
        let present = fields.present(of: Self.actions)
        guard let name = present.first else {
            throw ScenarioError(line: value.line, fault: .missing(Self.actions.joined(separator: ", ")))
        }
        if present.count > 1 { throw ScenarioError(line: value.line, fault: .contradiction(present[0], present[1])) }
        action = try LoadScenario.Action(name, fields.required(name), fleet)
        calls = try (fields["calls"]?.list() ?? []).map(Threshold.init(calls:))
    }
}

extension LoadScenario.Action {
    fileprivate init(_ name: String, _ value: YAMLValue, _ fleet: FleetShape) throws(ScenarioError) {
        switch name {
        case "restart": self = .restartGateway(try value.integer(in: 1...fleet.gateways))
        case "apple":
            guard fleet.apple != nil else { throw value.wrong(needed: "a fleet with a simulated Apple") }
            self = .apple(try Scenario(value))
        default:
            let server = try value.word(as: LoadScenario.Server.self)
            switch server {
            case .redis: guard fleet.hasRedis else { throw value.wrong(needed: "a fleet with redis") }
            case .verifyReceipt: guard fleet.hasServerAPI else { throw value.wrong(needed: "a fleet with server_api") }
            }
            self = name == "kill" ? .kill(server) : .start(server)
        }
    }
}
