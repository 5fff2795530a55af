// SPDX-License-Identifier: Apache-2.0

internal import Receipts
internal import Yams

/// A part of a scenario: the requests it applies to, and its effects on their answers.
struct ScenarioPhase: Hashable, Sendable {
    /// The endpoint it applies to; nil for both.
    var endpoint: Endpoint?
    /// The interface it applies to; nil for both.
    var api: AppleAPI?
    /// Seconds since the scenario's start, the end excluded.
    var seconds: Range<Double> = 0..<Double.infinity
    /// The fraction of requests it applies to.
    var share = 1.0
    /// The maximum number of requests it applies to; nil for any number.
    var requests: Int?

    var fault: ServerFault?
    var latency: Latency?
    /// Additional header fields, in order, spelled as in the scenario.
    var headers: [HeaderField]?
    /// The seconds from the scenario's start to the date of an additional field `Sunset`; negative for a date before it.
    var sunsetSeconds: Int64?

    /// One line of a header.
    struct HeaderField: Hashable, Sendable {
        let name: String
        let value: String
    }
}

extension ScenarioPhase {
    init(_ value: YAMLValue, limits: SimulatorLimits) throws(ScenarioError) {
        let fields = try YAMLFields(
            value,
            known: [
                "endpoint", "api", "from", "to", "for", "share", "requests", "fault", "latency", "headers", "sunset_in",
            ])
        endpoint = try fields["endpoint"]?.word(as: Endpoint.self)
        seconds = try Self.seconds(fields)
        share = try fields["share"]?.number(in: 0...1) ?? 1
        requests = try fields["requests"]?.integer(in: 0...Int.max)
        if let value = fields["fault"] { fault = try ServerFault(value) }
        if let value = fields["latency"] { latency = try Latency(value, limits: limits) }
        if let value = fields["headers"] { headers = try HeaderField.all(value) }
        sunsetSeconds = try fields["sunset_in"]?.span()
        api = try Self.api(fields, fault)
        guard !fields.present(of: ["fault", "latency", "headers", "sunset_in"]).isEmpty else {
            throw ScenarioError(line: value.line, fault: .missing("fault, latency, headers or sunset_in"))
        }
    }

    /// Reads `api`. A phase with a fault of one interface applies to that interface.
    private static func api(_ fields: YAMLFields, _ fault: ServerFault?) throws(ScenarioError) -> AppleAPI? {
        guard let value = fields["api"] else { return fault?.api }
        let api = try value.word(as: AppleAPI.self)
        guard fault?.api == nil || fault?.api == api else {
            throw ScenarioError(line: value.line, fault: .contradiction("api: \(api.rawValue)", "fault"))
        }
        return api
    }

    /// Reads `from` and either `to` or `for`, all in seconds.
    private static func seconds(_ fields: YAMLFields) throws(ScenarioError) -> Range<Double> {
        let decade = 0...Double(10 * 365 * 86_400)
        let from = try fields["from"]?.number(in: decade) ?? 0
        let to = try fields["to"]?.number(in: decade)
        let length = try fields["for"]?.number(in: decade)
        if to != nil, length != nil { throw ScenarioError(line: fields.line, fault: .contradiction("to", "for")) }
        let end = to ?? length.map { from + $0 } ?? .infinity
        guard from <= end else {
            throw ScenarioError(line: fields.line, fault: .wrongValue(of: "to", needed: "a time after 'from'"))
        }
        return from..<end
    }
}

extension ScenarioPhase {
    /// Returns the phase of a scenario that starts at a time: its `Sunset` has a date.
    func starting(at start: Timestamp) -> ScenarioPhase {
        guard let sunsetSeconds else { return self }
        var phase = self
        let date = HTTPDate.text(start.advanced(by: .seconds(sunsetSeconds)))
        phase.headers = (headers ?? []) + [HeaderField(name: "Sunset", value: date)]
        return phase
    }
}

extension YAMLValue {
    /// Reads `20d`, `12s` or `-1d`, in seconds.
    fileprivate func span() throws(ScenarioError) -> Int64 {
        let text = scalar ?? "", units: [Character: Int64] = ["s": 1, "d": 86_400]
        guard let unit = text.last.flatMap({ units[$0] }), let number = Int64(text.dropLast()),
            (-Self.maximumNumber...Self.maximumNumber).contains(number)
        else { throw wrong(needed: "days or seconds such as 20d, 12s or -1d") }
        return number * unit
    }

    private static let maximumNumber: Int64 = 1_000_000
}

extension ScenarioPhase.HeaderField {
    /// Reads names with a value, or with a list of values for several lines.
    static func all(_ value: YAMLValue) throws(ScenarioError) -> [Self] {
        var fields: [Self] = []
        for (key, value) in try value.namedValues() {
            let name = try key.text()
            guard isFree(name) else { throw key.wrong(needed: "names of fields that do not frame the answer") }
            for value in value.node.sequence == nil ? [value] : try value.list() {
                fields.append(Self(name: name, value: try line(value)))
            }
        }
        return fields
    }

    /// Returns true for a token (RFC 9110 §5.6.2) that is not one of the fields which frame an answer.
    private static func isFree(_ name: String) -> Bool {
        name.utf8.allSatisfy { (0x21...0x7E).contains($0) && !"\"(),/:;<=>?@[\\]{}".utf8.contains($0) }
            && !["content-length", "transfer-encoding", "connection"].contains(name.lowercased())
    }

    /// Reads visible ASCII, spaces and tabs (RFC 9110 §5.5); also the empty value, which some servers send.
    private static func line(_ value: YAMLValue) throws(ScenarioError) -> String {
        guard let text = value.scalar, text.utf8.allSatisfy({ (0x20...0x7E).contains($0) || $0 == 0x09 }) else {
            throw value.wrong(needed: "one line of ASCII, in quotes where YAML requires them")
        }
        return text
    }
}
