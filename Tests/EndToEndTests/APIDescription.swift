// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Yams

/// A validator of JSON values against docs/api.yaml. It supports the part of JSON Schema that the file uses.
struct APIDescription {
    // SAFETY (nonisolated(unsafe)): values of JSON that no code changes; only `Any` is not Sendable.
    nonisolated(unsafe) private static let file = Result { try read() }

    private let document: [String: Any]

    init() throws { self = unsafe try Self.file.get() }

    private init(_ document: [String: Any]) { self.document = document }

    private static func read() throws -> Self {
        let file = repositoryRoot.appending(path: "docs/api.yaml")
        return Self(try Yams.load(yaml: String(contentsOf: file, encoding: .utf8)) as? [String: Any] ?? [:])
    }

    /// Each path with its methods in upper case, once for each plane that has it. Paths without a server of their own are
    /// on the data plane.
    var operations: [(path: String, method: String, isOnDataPlane: Bool)] {
        (document["paths"] as? [String: [String: Any]] ?? [:]).flatMap { path, item in
            let planes = (item["servers"] as? [[String: String]])?.map { $0["description"] } ?? ["data plane"]
            let methods = item.keys.filter { $0 != "servers" }
            return planes.flatMap { plane in methods.map { (path, $0.uppercased(), plane == "data plane") } }
        }
    }

    /// Returns every deviation of the example of a 200 from its schema.
    func faultsOfExample(of method: String, _ path: String) throws -> [String] {
        let operation = (document["paths"] as? [String: [String: Any]])?[path]?[method.lowercased()] as? [String: Any]
        let success = ((operation?["responses"] as? [String: Any])?["200"]).map(resolved)
        let content = (success?["content"] as? [String: [String: Any]])?["application/json"]
        guard let example = content?["example"], let schema = content?["schema"] as? [String: Any] else {
            return ["there is no example"]
        }
        let json = try JSONSerialization.data(withJSONObject: example, options: .sortedKeys)
        return faults(of: try JSONSerialization.jsonObject(with: json), under: schema, at: "$")
    }

    /// Returns every deviation of an answer from its description.
    func faults(of answer: HTTPAnswer, to method: String, _ path: String) throws -> [String] {
        let operation = (document["paths"] as? [String: [String: Any]])?[path]?[method.lowercased()] as? [String: Any]
        let responses = operation?["responses"] as? [String: Any]
        guard let response = responses?[String(answer.status)].map(resolved) else {
            return ["status \(answer.status) is not described"]
        }
        let headerFaults = headerFaults(of: answer, under: response)
        guard headerFaults.isEmpty else { return headerFaults }
        let contents = response["content"] as? [String: [String: Any]] ?? [:]
        let mediaType = answer.contentType.split(separator: ";").first.map(String.init) ?? ""
        guard let schema = contents[mediaType]?["schema"] as? [String: Any] else {
            return ["\(mediaType) is not described for \(answer.status)"]
        }
        guard mediaType.hasSuffix("json") else { return [] }
        return faults(of: try JSONSerialization.jsonObject(with: answer.body), under: schema, at: "$")
    }

    /// Returns the meaningful header fields that are required and missing, or present and not described.
    private func headerFaults(of answer: HTTPAnswer, under response: [String: Any]) -> [String] {
        let described = (response["headers"] as? [String: Any] ?? [:]).map { ($0.lowercased(), resolved($1)) }
        let missing = described.filter { $1["required"] as? Bool == true && answer.headers[$0] == nil }.map(\.0)
        let names = Set(described.map(\.0))
        let undescribed = Self.meaningfulHeaders.filter { answer.headers[$0] != nil && !names.contains($0) }
        return missing.map { "\($0) is missing" } + undescribed.map { "\($0) is not described" }
    }

    private static let meaningfulHeaders = [
        "link",
        "sunset",
        "deprecation",
        "age", "allow", "cache-status", "gateway-degraded", "gateway-reason", "gateway-source", "retry-after",
        "www-authenticate", "x-request-id", "ratelimit", "ratelimit-policy", "x-ratelimit-limit",
        "x-ratelimit-remaining", "x-ratelimit-reset",
    ]

    private func resolved(_ value: Any) -> [String: Any] {
        guard let object = value as? [String: Any] else { return [:] }
        guard let reference = object["$ref"] as? String else { return object }
        return reference.split(separator: "/").dropFirst().reduce(document) { object, name in
            object[String(name)] as? [String: Any] ?? [:]
        }
    }

    private func faults(of value: Any, under schema: [String: Any], at place: String) -> [String] {
        let schema = resolved(schema)
        // A schema without a rule permits any value.
        if Array(schema.keys) == ["description"] { return [] }
        if let allowed = schema["enum"] as? [String], !allowed.contains(value as? String ?? "") {
            return ["\(place) is \(value), which is not listed"]
        }
        if let types = schema["type"] as? [String] {
            let each = types.map { faults(of: value, under: schema.merging(["type": $0]) { $1 }, at: place) }
            return each.contains([]) ? [] : Array(each.joined())
        }
        switch schema["type"] as? String {
        case "object": return objectFaults(of: value, under: schema, at: place)
        case "array":
            guard let elements = value as? [Any], let items = schema["items"] as? [String: Any] else {
                return ["\(place) is no array"]
            }
            return elements.enumerated().flatMap { faults(of: $1, under: items, at: "\(place)[\($0)]") }
        case "string":
            return (value as? String).map { stringFaults(of: $0, under: schema, at: place) }
                ?? ["\(place) is no string"]
        case "number": return value is NSNumber && !Self.isBoolean(value) ? [] : ["\(place) is no number"]
        case "integer": return Self.isInteger(value) ? [] : ["\(place) is no integer"]
        case "null": return value is NSNull ? [] : ["\(place) is not null"]
        case "boolean": return Self.isBoolean(value) ? [] : ["\(place) is no boolean"]
        default: return ["\(place) has a type this validator does not know"]
        }
    }

    private func objectFaults(of value: Any, under schema: [String: Any], at place: String) -> [String] {
        guard let object = value as? [String: Any] else { return ["\(place) is no object"] }
        let properties = schema["properties"] as? [String: [String: Any]] ?? [:]
        let isOpen = schema["additionalProperties"] as? Bool == true
        let missing = (schema["required"] as? [String] ?? []).filter { object[$0] == nil }
        return missing.map { "\(place).\($0) is missing" }
            + object.flatMap { name, member in
                properties[name].map { faults(of: member, under: $0, at: "\(place).\(name)") }
                    ?? (isOpen ? [] : ["\(place).\(name) is not described"])
            }
    }

    private func stringFaults(of text: String, under schema: [String: Any], at place: String) -> [String] {
        guard schema["format"] as? String == "date-time" else { return [] }
        let isDate = text.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?Z/) != nil
        return isDate ? [] : ["\(place) is no date in UTC"]
    }

    private static func isBoolean(_ value: Any) -> Bool {
        guard let number = value as? NSNumber else { return false }
        // SAFETY: Foundation returns a static C string.
        return unsafe String(cString: number.objCType) == "c"
    }

    private static func isInteger(_ value: Any) -> Bool {
        guard let number = value as? NSNumber else { return false }
        return !isBoolean(value) && number.doubleValue == number.doubleValue.rounded()
    }
}
