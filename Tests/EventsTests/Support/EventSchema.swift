// SPDX-License-Identifier: Apache-2.0

import Foundation
import JSON
import Receipts
import Testing
import TestSupport
import Yams

/// docs/events.yaml, by the part of JSON Schema (2020-12) that it uses.
struct EventSchema {
    private let root: [String: Any]

    init() throws {
        let file = repositoryRoot.appending(path: "docs/events.yaml")
        root = try #require(try Yams.load(yaml: String(contentsOf: file, encoding: .utf8)) as? [String: Any])
    }

    /// The words of an enumeration, by the path of names to it.
    func words(_ path: String...) -> [String] {
        let schema = path.reduce(root) { $0[$1] as? [String: Any] ?? [:] }
        return schema["enum"] as? [String] ?? []
    }

    /// The version that events must name.
    var version: Int? { (definition("Data")["schema_version"] as? [String: Any])?["const"] as? Int }

    /// The members of all objects, as paths from the event.
    var members: Set<String> { Set(names(of: root, under: "")) }

    /// The objects whose members are Apple's.
    private var open: Set<String> { members.filter { isOpen($0.split(separator: ".").map(String.init)) } }

    private func isOpen(_ path: [String]) -> Bool {
        let schema = path.reduce(resolved(root)) { resolved(properties(of: $0)[$1] ?? [:]) }
        return schema["type"] as? String == "object" && schema["properties"] == nil
    }

    private func definition(_ name: String) -> [String: Any] {
        let definitions = root["$defs"] as? [String: Any]
        return (definitions?[name] as? [String: Any])?["properties"] as? [String: Any] ?? [:]
    }

    private func names(of schema: [String: Any], under path: String) -> [String] {
        properties(of: resolved(schema)).flatMap { name, schema in
            ["\(path)\(name)"] + names(of: schema, under: "\(path)\(name).")
        }
    }

    private func properties(of schema: [String: Any]) -> [String: [String: Any]] {
        (schema["properties"] as? [String: Any] ?? [:]).compactMapValues { $0 as? [String: Any] }
    }

    private func resolved(_ schema: [String: Any]) -> [String: Any] {
        guard let reference = schema["$ref"] as? String else { return schema }
        let path = reference.split(separator: "/").dropFirst()
        return path.reduce(root) { $0[String($1)] as? [String: Any] ?? [:] }
    }
}

// MARK: - Validation

extension EventSchema {
    /// Returns the members that break the schema, or that it does not have.
    func problems(in json: [UInt8]) throws -> [String] {
        let event = try JSONValue(parsing: json)
        let open = open
        func isOpen(_ path: String) -> Bool { open.contains { path.hasPrefix("\($0).") } }
        let unknown = Set(Self.paths(in: event)).subtracting(members).filter { !isOpen($0) }
        return problems(in: event, root, "event") + unknown.sorted().map { "\($0) is not in the schema" }
    }

    /// Returns the members of all objects, as paths from the event.
    static func paths(in json: JSONValue, under path: String = "") -> [String] {
        (json.members ?? []).flatMap { member in
            ["\(path)\(member.name)"] + paths(in: member.value, under: "\(path)\(member.name).")
        }
    }

    private func problems(in json: JSONValue, _ schema: [String: Any], _ path: String) -> [String] {
        let schema = resolved(schema)
        var problems = schema.flatMap { keyword, value in
            isMet(keyword, value, by: json).map { $0 ? [] : ["\(path) breaks \(keyword)"] } ?? []
        }
        for (name, part) in properties(of: schema) {
            if let value = json[name] { problems += self.problems(in: value, part, "\(path).\(name)") }
        }
        for part in schema["allOf"] as? [[String: Any]] ?? [] {
            guard let condition = part["if"] as? [String: Any], let then = part["then"] as? [String: Any] else {
                problems.append("\(path) has a part without a condition")
                continue
            }
            if self.problems(in: json, condition, path) == [] { problems += self.problems(in: json, then, path) }
        }
        return problems
    }

    /// Nil for a keyword that is no rule of its own.
    private func isMet(_ keyword: String, _ value: Any, by json: JSONValue) -> Bool? {
        switch keyword {
        case "type": value as? String == json.typeName
        case "const": Self.equals(value, json)
        case "enum": (value as? [String])?.contains(json.string ?? "") == true
        case "required": (value as? [String])?.allSatisfy { json[$0] != nil } == true
        case "pattern": (try? Regex(value as? String ?? "")).flatMap { json.string?.firstMatch(of: $0) } != nil
        case "format": value as? String == "date-time" && json.isDateTime
        case "properties", "allOf", "description", "title", "$schema", "$id", "$defs": nil
        default: false
        }
    }

    private static func equals(_ value: Any, _ json: JSONValue) -> Bool {
        if let number = json.number { return (value as? Int).map { Int64($0) } == number.integer }
        if let flag = json.bool { return value as? Bool == flag }
        return value as? String == json.string
    }
}

extension JSONValue {
    /// True for an RFC 3339 date in UTC, with or without milliseconds.
    fileprivate var isDateTime: Bool {
        string.flatMap { Timestamp(rfc3339: $0.replacing(/\.[0-9]{3}Z$/, with: "Z")) } != nil
    }

    /// The name of the type in JSON Schema.
    fileprivate var typeName: String {
        switch content {
        case .object: "object"
        case .array: "array"
        case .string: "string"
        case .number(let number): number.integer == nil ? "number" : "integer"
        case .bool: "boolean"
        case .null: "null"
        }
    }
}
