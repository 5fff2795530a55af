// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import JSON

/// Reads results. A file may come from a third party: it is bounded and checked before it is used.
enum RunResultFile {
    static func read(_ path: String) throws -> RunResult {
        guard let text = try? bytes(of: path) else { throw FileError.notReadable(path: path) }
        return try ContentError.naming(path) { () throws(RunResultFault) in try read(text) }
    }

    /// Returns at most one byte more than a result may have: the file may be a device without an end.
    private static func bytes(of path: String) throws -> [UInt8] {
        let file = try FileHandle(forReadingFrom: URL(filePath: path))
        defer { try? file.close() }
        var bytes: [UInt8] = []
        let most = RunResultLimits().bytes + 1
        while bytes.count < most, let part = try file.read(upToCount: most - bytes.count), !part.isEmpty {
            bytes += part
        }
        return bytes
    }

    static func read(_ text: [UInt8]) throws(RunResultFault) -> RunResult {
        let limits = RunResultLimits(), tree: JSONValue
        do throws(JSONFault) {
            tree = try JSONValue(parsing: text, limits: limits.json)
        } catch {
            throw .notJSON("\(error)")
        }
        // First, since another version may have other members.
        guard let schema = tree["schema"]?.number?.integer else { throw .notAResult }
        guard schema == RunResult.schema else { throw .otherSchema(schema) }
        let result: RunResult
        do {
            result = try JSONDecoder().decode(RunResult.self, from: Data(text))
        } catch {
            throw (error as? DecodingError)?.fault ?? .notAResult
        }
        try limits.check(result, of: tree)
        return result
    }
}

enum RunResultFault: Error, Hashable, CustomStringConvertible {
    /// No JSON, or more JSON than a run writes.
    case notJSON(String)
    case notAResult
    case otherSchema(Int64)
    /// A member is missing, or has another type, or is out of its range or order.
    case member(String, String)
    case tooMany(String, most: Int)
    case tooLong(String, most: Int)

    var description: String {
        switch self {
        case .notJSON(let reason): "this is no JSON that could be a result: \(reason)"
        case .notAResult: "this is no result of a load run: it has no number 'schema'"
        case .otherSchema(let schema):
            "this result has schema \(schema), and this program reads schema \(RunResult.schema): use the version of "
                + "receipt-loadtest that wrote it"
        case .member(let place, let reason): "\(place): \(reason)"
        case .tooMany(let place, let most): "\(place): more than \(most.grouped)"
        case .tooLong(let place, let most): "\(place): a text of more than \(most.grouped) bytes"
        }
    }
}

extension DecodingError {
    fileprivate var fault: RunResultFault {
        switch self {
        case .keyNotFound(let key, let context): .member(Self.place(context.codingPath + [key]), "is missing")
        case .typeMismatch(let type, let context): .member(Self.place(context.codingPath), "is no \(type)")
        case .valueNotFound(_, let context): .member(Self.place(context.codingPath), "is null")
        case .dataCorrupted(let context): .member(Self.place(context.codingPath), context.debugDescription)
        @unknown default: .notAResult
        }
    }

    /// Returns `plan.stages[2].seconds`.
    private static func place(_ keys: [any CodingKey]) -> String {
        keys.reduce("") { place, key in
            if let index = key.intValue { return "\(place)[\(index)]" }
            return place.isEmpty ? key.stringValue : "\(place).\(key.stringValue)"
        }
    }
}

// MARK: - Limits

/// The limits of a result, so that a file from a third party cannot keep a reader busy.
struct RunResultLimits: Sendable {
    /// Of the file: a day's timeline takes a third.
    var bytes = 64 << 20
    /// Members and elements altogether.
    var values = 4_000_000
    /// Of the timeline: a day.
    var seconds = 86_400
    var stages = 1000
    var outcomes = 64
    var percentiles = 10_000
    var marks = 1000
    var series = 2000
    var points = 86_400
    var thresholds = 100
    /// Of all other lists.
    var entries = 10_000
    /// The bytes of one text.
    var text = 8192
    /// Larger numbers cannot be told apart from their neighbours in JSON.
    var number = 9e15

    var json: JSONValue.Limits { JSONValue.Limits(bytes: bytes, depth: 8, values: values) }

    /// Throws the first rule that a result breaks; members of later minor versions keep the same limits.
    func check(_ result: RunResult, of file: JSONValue) throws(RunResultFault) {
        try check(file, named: "", at: "")
        try checkOrder(of: result)
        guard Set(result.timeline.flatMap(\.outcomes.keys)).count <= outcomes else {
            throw .tooMany("timeline: outcomes", most: outcomes)
        }
    }

    private func check(_ value: JSONValue, named name: String, at place: String) throws(RunResultFault) {
        switch value {
        case .object(let members):
            try check(members.count, named: name, at: place)
            for member in members {
                let place = place.isEmpty ? member.name.description : "\(place).\(member.name)"
                try check(.string(member.name), named: name, at: place)
                try check(member.value, named: member.name.description, at: place)
            }
        case .array(let elements):
            try check(elements.count, named: name, at: place)
            for (index, element) in elements.enumerated() {
                try check(element, named: name, at: "\(place)[\(index)]")
            }
        case .string(let string): if string.utf8.count > text { throw .tooLong(place, most: text) }
        case .number(let number): try check(Double(number.text) ?? .nan, at: place)
        case .bool, .null: break
        }
    }

    private func check(_ count: Int, named name: String, at place: String) throws(RunResultFault) {
        let most =
            switch name {
            case "timeline": seconds
            case "stages": stages
            case "outcomes": outcomes
            case "percentiles": percentiles
            case "marks": marks
            case "metrics": series
            case "points": points
            case "thresholds": thresholds
            default: entries
            }
        guard count <= most else { throw .tooMany(place, most: most) }
    }

    /// Only values of metrics may be below zero; a seed may be any number.
    private func check(_ number: Double, at place: String) throws(RunResultFault) {
        guard number >= 0 || place.hasPrefix("metrics[") else { throw .member(place, "must be 0 or more") }
        guard number.magnitude <= self.number || place == "plan.seed" else { throw .member(place, "is too large") }
    }

    private func checkOrder(of result: RunResult) throws(RunResultFault) {
        guard Self.isRising(result.timeline.map(\.second)), result.timeline.last.map({ $0.second < seconds }) ?? true
        else { throw .member("timeline", "seconds must rise, and stay below \(seconds.grouped)") }
        let distributions =
            [
                ("response", result.response), ("service", result.service),
                ("generator.send_lag", result.generator.sendLag),
            ]
            + result.outcomes.enumerated().map { ("outcomes[\($0)].response", $1.response) }
        for (place, distribution) in distributions {
            let percentiles = distribution.percentiles.map(\.x)
            guard Self.isRising(percentiles), percentiles.last ?? 0 <= 100 else {
                throw .member("\(place).percentiles", "must rise, up to 100")
            }
        }
        for (index, series) in result.metrics.enumerated() {
            let seconds = series.points.map(\.x)
            guard Self.isRising(seconds), seconds.first ?? 0 >= 0 else {
                throw .member("metrics[\(index)].points", "must be in the order of time, from 0")
            }
        }
    }

    private static func isRising(_ values: [some Comparable]) -> Bool { zip(values, values.dropFirst()).allSatisfy(<) }
}
