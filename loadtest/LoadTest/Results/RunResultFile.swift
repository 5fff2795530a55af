// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials

/// Reads the results of runs.
enum RunResultFile {
    static func read(_ path: String) throws -> RunResult {
        let text = Array(try FileError.text(of: path).utf8)
        return try ContentError.naming(path) { () throws(RunResultFault) in try read(text) }
    }

    static func read(_ text: [UInt8]) throws(RunResultFault) -> RunResult {
        do {
            // First, since another version may have other members.
            let schema = try JSONDecoder().decode(Head.self, from: Data(text)).schema
            guard schema == RunResult.schema else { throw RunResultFault.otherSchema(schema) }
            return try JSONDecoder().decode(RunResult.self, from: Data(text))
        } catch {
            throw (error as? DecodingError)?.fault ?? (error as? RunResultFault) ?? .notAResult
        }
    }

    private struct Head: Decodable {
        let schema: Int
    }
}

enum RunResultFault: Error, Hashable, CustomStringConvertible {
    case notJSON(String)
    case notAResult
    case otherSchema(Int)
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
        case .keyNotFound(let key, let context): Self.fault(context.codingPath + [key], "is missing")
        case .typeMismatch(let type, let context): Self.fault(context.codingPath, "is no \(type)")
        case .valueNotFound(_, let context): Self.fault(context.codingPath, "is null")
        case .dataCorrupted(let context) where context.codingPath.isEmpty: .notJSON(context.debugDescription)
        case .dataCorrupted(let context): Self.fault(context.codingPath, context.debugDescription)
        @unknown default: .notAResult
        }
    }

    /// Returns the fault of a member: `plan.stages[2].seconds`.
    private static func fault(_ keys: [any CodingKey], _ reason: String) -> RunResultFault {
        let place = keys.reduce("") { place, key in
            if let index = key.intValue { return "\(place)[\(index)]" }
            return place.isEmpty ? key.stringValue : "\(place).\(key.stringValue)"
        }
        return place.isEmpty || place == "schema" ? .notAResult : .member(place, reason)
    }
}
