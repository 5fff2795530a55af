// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import JSON

/// Reads what a run found. The file may be somebody else's: it is bounded and checked before anything is made of it.
enum RunResultFile {
    /// Reads a file, and names it in what is wrong with it.
    static func read(_ path: String) throws(RunResultError) -> RunResult {
        guard let text = try? bytes(of: path) else { throw .notReadable(path: path) }
        do throws(RunResultFault) {
            return try read(text)
        } catch {
            throw .notResult(path: path, error)
        }
    }

    /// One byte more than a result may have at most: the file may be a device without an end.
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

    /// Reads a text.
    static func read(_ text: [UInt8]) throws(RunResultFault) -> RunResult {
        let tree: JSONValue
        do throws(JSONFault) {
            tree = try JSONValue(parsing: text, limits: RunResultLimits().json)
        } catch {
            throw .notJSON("\(error)")
        }
        // Before the rest: what another version says cannot be expected to fit.
        guard let schema = tree["schema"]?.number?.integer else { throw .notAResult }
        guard schema == RunResult.schema else { throw .otherSchema(schema) }
        let result = try decode(text)
        try RunResultLimits().check(result)
        return result
    }

    private static func decode(_ text: [UInt8]) throws(RunResultFault) -> RunResult {
        do {
            return try JSONDecoder().decode(RunResult.self, from: Data(text))
        } catch let error as DecodingError {
            throw .member(error.place, error.reason)
        } catch {
            throw .notAResult
        }
    }
}

/// Why a file cannot be reported on.
enum RunResultError: Error, Hashable, CustomStringConvertible {
    case notReadable(path: String)
    case notResult(path: String, RunResultFault)

    var description: String {
        switch self {
        case .notReadable(let path): "Cannot read '\(path)'."
        case .notResult(let path, let fault): "\(path): \(fault)"
        }
    }
}

/// Which rule a result breaks.
enum RunResultFault: Error, Hashable, CustomStringConvertible {
    /// No JSON, or more of it than any run writes.
    case notJSON(String)
    /// JSON of something else.
    case notAResult
    /// A result in a form of another version.
    case otherSchema(Int64)
    /// A member is missing, or holds something of another type.
    case member(String, String)
    /// More of something than is read.
    case tooMany(String, most: Int)
    /// A text of more bytes than are read.
    case tooLong(String, most: Int)
    /// A number that cannot be.
    case number(String, String)

    var description: String {
        switch self {
        case .notJSON(let reason): "this is no JSON that could be a result: \(reason)"
        case .notAResult: "this is no result of a load run: it has no number 'schema'"
        case .otherSchema(let schema):
            "this result has schema \(schema), and this program reads schema \(RunResult.schema): use the receipt-loadtest "
                + "that wrote it"
        case .member(let place, let reason): "\(place): \(reason)"
        case .tooMany(let place, let most): "\(place): more than \(most.grouped)"
        case .tooLong(let place, let most): "\(place): a text of more than \(most.grouped) bytes"
        case .number(let place, let reason): "\(place): \(reason)"
        }
    }
}

extension DecodingError {
    /// Where it happened: `plan.stages[2].seconds`.
    fileprivate var place: String {
        let keys: [any CodingKey]
        switch self {
        case .keyNotFound(let key, let context): keys = context.codingPath + [key]
        case .typeMismatch(_, let context), .valueNotFound(_, let context), .dataCorrupted(let context):
            keys = context.codingPath
        @unknown default: keys = []
        }
        return keys.reduce("") { place, key in
            if let index = key.intValue { return place + "[\(index)]" }
            return place.isEmpty ? key.stringValue : place + "." + key.stringValue
        }
    }

    fileprivate var reason: String {
        switch self {
        case .keyNotFound: "is missing"
        case .typeMismatch(let type, _): "is no \(type)"
        case .valueNotFound: "is null"
        case .dataCorrupted(let context): context.debugDescription
        @unknown default: "is not as it should be"
        }
    }
}
