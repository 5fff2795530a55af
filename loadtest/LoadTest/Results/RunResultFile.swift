// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import JSON

/// Reads results. A file may come from a third party: it is bounded and checked before it is used.
enum RunResultFile {
    static func read(_ path: String) throws(RunResultError) -> RunResult {
        guard let text = try? bytes(of: path) else { throw .notReadable(path: path) }
        do throws(RunResultFault) {
            return try read(text)
        } catch {
            throw .notResult(path: path, error)
        }
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

/// A file that cannot be read or written.
enum RunResultError: Error, Hashable, CustomStringConvertible {
    case notReadable(path: String)
    case notWritable(path: String)
    case notResult(path: String, RunResultFault)

    var description: String {
        switch self {
        case .notReadable(let path): "Cannot read '\(path)'."
        case .notWritable(let path): "Cannot write '\(path)'."
        case .notResult(let path, let fault): "\(path): \(fault)"
        }
    }
}

/// A rule that a result breaks.
enum RunResultFault: Error, Hashable, CustomStringConvertible {
    /// No JSON, or more of it than a run writes.
    case notJSON(String)
    case notAResult
    case otherSchema(Int64)
    /// A member is missing or has another type.
    case member(String, String)
    case tooMany(String, most: Int)
    case tooLong(String, most: Int)
    /// A number out of its range or order.
    case number(String, String)

    var description: String {
        switch self {
        case .notJSON(let reason): "this is no JSON that could be a result: \(reason)"
        case .notAResult: "this is no result of a load run: it has no number 'schema'"
        case .otherSchema(let schema):
            "this result has schema \(schema), and this program reads schema \(RunResult.schema): use the version of "
                + "receipt-loadtest that wrote it"
        case .member(let place, let reason), .number(let place, let reason): "\(place): \(reason)"
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
