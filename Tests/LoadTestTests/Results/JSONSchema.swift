// SPDX-License-Identifier: Apache-2.0

import JSON

/// The part of JSON Schema 2020-12 that loadtest/schema.json uses. A keyword that is not known here is a fault, so that
/// nothing in the schema goes unchecked; so is a member that the schema does not describe.
struct JSONSchema {
    private let root: JSONValue

    init(_ root: JSONValue) {
        self.root = root
    }

    /// Returns the violations of the schema, each with its place.
    func faults(of value: JSONValue) -> [String] { check(value, by: root, at: "") }

    private static let annotations: Set<String> = ["$schema", "$id", "$defs", "title", "description"]

    private func check(_ value: JSONValue, by schema: JSONValue, at place: String) -> [String] {
        (schema.members ?? []).flatMap { keyword -> [String] in
            guard !Self.annotations.contains(keyword.name.description) else { return [] }
            return check(value, keyword.name.description, keyword.value, in: schema, place)
        }
    }

    private func check(
        _ value: JSONValue, _ keyword: String, _ rule: JSONValue, in schema: JSONValue, _ place: String
    ) -> [String] {
        func unless(_ holds: Bool) -> [String] { holds ? [] : ["\(place): \(keyword) \(rule)"] }
        let number = value.number.flatMap { Double($0.text) }, limit = rule.number.flatMap { Double($0.text) } ?? .nan
        switch keyword {
        case "$ref": return check(value, by: definition(rule), at: place)
        case "const": return unless(value == rule)
        case "enum": return unless(rule.elements?.contains(value) == true)
        case "type": return unless(types(rule).contains { isOf($0, value) })
        case "minimum": return unless(number.map { $0 >= limit } ?? true)
        case "maximum": return unless(number.map { $0 <= limit } ?? true)
        case "minItems": return unless(Double(value.elements?.count ?? .max) >= limit)
        case "maxItems": return unless(Double(value.elements?.count ?? 0) <= limit)
        case "maxProperties": return unless(Double(value.members?.count ?? 0) <= limit)
        case "maxLength": return unless(Double(value.string?.unicodeScalars.count ?? 0) <= limit)
        case "pattern": return unless(matches(value, rule))
        case "required": return unless((rule.elements ?? []).allSatisfy { value[$0.string ?? ""] != nil })
        case "items":
            return (value.elements ?? []).enumerated().flatMap { check($1, by: rule, at: "\(place)[\($0)]") }
        case "properties": return checkMembers(of: value, described: rule, place)
        case "additionalProperties":
            return (value.members ?? []).flatMap { check($0.value, by: rule, at: "\(place).\($0.name)") }
        default: return ["\(place): the keyword \(keyword) is not known"]
        }
    }

    private func checkMembers(of value: JSONValue, described: JSONValue, _ place: String) -> [String] {
        (value.members ?? []).flatMap { member in
            guard let schema = described[member.name.description] else {
                return ["\(place).\(member.name) is not described"]
            }
            return check(member.value, by: schema, at: "\(place).\(member.name)")
        }
    }

    private func definition(_ reference: JSONValue) -> JSONValue {
        let name = reference.string?.split(separator: "/").last.map(String.init) ?? ""
        return root["$defs"]?[name] ?? Self.undefined
    }

    /// A schema that no value meets: its keyword is unknown.
    private static let undefined = (try? JSONValue(parsing: Array(#"{"undefined":0}"#.utf8))) ?? .null

    private func types(_ rule: JSONValue) -> [String] { rule.elements?.compactMap(\.string) ?? [rule.string ?? ""] }

    private func isOf(_ type: String, _ value: JSONValue) -> Bool {
        switch (type, value.content) {
        case ("object", .object), ("array", .array), ("string", .string), ("boolean", .bool), ("null", .null),
            ("number", .number):
            true
        case ("integer", .number(let number)): Double(number.text).map { $0 == $0.rounded() } ?? false
        default: false
        }
    }

    private func matches(_ value: JSONValue, _ rule: JSONValue) -> Bool {
        guard let text = value.string, let pattern = rule.string, let expression = try? Regex(pattern) else {
            return false
        }
        return text.contains(expression)
    }
}
