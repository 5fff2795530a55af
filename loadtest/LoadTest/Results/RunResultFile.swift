// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import JSON

/// Reads the results of runs. A file may come from a third party, and may be a pipe, or a device without an end.
enum RunResultFile {
    private static let limits = JSONValue.Limits(bytes: 64 << 20, depth: 8, values: 4_000_000)

    static func read(_ path: String) throws -> RunResult { try read(try bytes(of: path), from: path) }

    static func read(_ text: [UInt8], from path: String) throws(ContentError<RunResultFault>) -> RunResult {
        try ContentError.naming(path) { () throws(RunResultFault) in try read(text) }
    }

    static func read(_ text: [UInt8]) throws(RunResultFault) -> RunResult {
        // First, since another version may have other members.
        guard let schema = try tree(of: text)["schema"]?.number?.integer else { throw .notAResult }
        guard schema == RunResult.schema else { throw .otherSchema(schema) }
        do {
            return try JSONOutput.read(text)
        } catch {
            throw (error as? DecodingError)?.fault ?? .notAResult
        }
    }

    /// Returns at most one byte more than a result may have.
    static func bytes(of path: String) throws(FileError) -> [UInt8] {
        try FileError.beginning(of: path, atMost: limits.bytes)
    }

    /// Returns JSON whose numbers can be added, and converted to `Int`: larger and negative ones are no run's.
    static func tree(of text: [UInt8]) throws(RunResultFault) -> JSONValue {
        let tree: JSONValue
        do throws(JSONFault) {
            tree = try JSONValue(parsing: text, limits: limits)
        } catch {
            throw .notJSON("\(error)")
        }
        try check(tree, at: "")
        return tree
    }

    /// Only values of metrics, and figures of a bench, may be below zero; a seed may be any number.
    private static func check(_ value: JSONValue, at place: String) throws(RunResultFault) {
        func inside(_ name: String) -> String { place.isEmpty ? name : "\(place).\(name)" }
        switch value.content {
        case .object(let members): for member in members { try check(member.value, at: inside("\(member.name)")) }
        case .array(let elements):
            for (index, element) in elements.enumerated() { try check(element, at: "\(place)[\(index)]") }
        case .number(let number) where place != "plan.seed":
            let number = Double(number.text) ?? .nan
            let isSigned = ["metrics[", "figures[", "measurements["].contains(where: place.hasPrefix)
            guard number >= 0 || isSigned else { throw .member(place, "must be 0 or more") }
            guard number.magnitude <= RunResultLimits.number else { throw .member(place, "is too large") }
        case .number, .string, .bool, .null: break
        }
    }
}

enum RunResultFault: Error, Hashable, CustomStringConvertible {
    case notJSON(String)
    case notAResult
    case otherSchema(Int64)
    /// A member is missing, or has another type or form.
    case member(String, String)

    var description: String {
        switch self {
        case .notJSON(let reason): "this is no JSON that could be a result: \(reason)"
        case .notAResult: "this is no result of a load run: it has no number 'schema'"
        case .otherSchema(let schema):
            "this result has schema \(schema), and this program reads schema \(RunResult.schema): use the version of "
                + "receipt-loadtest that wrote it"
        case .member(let place, let reason): "\(place): \(reason)"
        }
    }
}

extension DecodingError {
    fileprivate var fault: RunResultFault {
        switch self {
        case .keyNotFound(let key, let context): .member(Self.place(context.codingPath + [key]), "is missing")
        case .typeMismatch(let type, let context): .member(Self.place(context.codingPath), "is no \(type)")
        case .valueNotFound(_, let context): .member(Self.place(context.codingPath), "is null")
        // The decoder names no place for a fraction in place of a whole number.
        case .dataCorrupted(let context) where context.codingPath.isEmpty: .notJSON("a number is no whole number")
        case .dataCorrupted(let context): .member(Self.place(context.codingPath), context.debugDescription)
        @unknown default: .notAResult
        }
    }

    /// Returns `plan.stages[2].seconds`.
    private static func place(_ keys: [any CodingKey]) -> String {
        keys.reduce("") { place, key in
            if let index = key.intValue { return "\(place)[\(index)]" }
            let member = key.stringValue.replacing(/[A-Z]/) { "_" + $0.output.lowercased() }
            return place.isEmpty ? member : "\(place).\(member)"
        }
    }
}
