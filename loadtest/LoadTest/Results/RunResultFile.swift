// SPDX-License-Identifier: Apache-2.0

/// Reads the results of runs. A file may be a pipe, or a device without an end.
enum RunResultFile {
    private static let maximumBytes = 64 << 20

    /// The version of a file, which decides about its other members.
    private struct Header: Decodable {
        let schema: Int
    }

    static func bytes(of path: String) throws(FileError) -> [UInt8] {
        try FileError.bytes(of: path, atMost: maximumBytes)
    }

    static func read(_ path: String) throws -> RunResult { try read(try bytes(of: path), from: path) }

    static func read(_ text: [UInt8], from path: String) throws(ContentError<RunResultFault>) -> RunResult {
        try ContentError.naming(path) { () throws(RunResultFault) in try read(text) }
    }

    static func read(_ text: [UInt8]) throws(RunResultFault) -> RunResult {
        do {
            // First, since another version may have other members.
            let header: Header = try JSONOutput.read(text)
            guard header.schema == RunResult.schema else { throw RunResultFault.otherSchema(header.schema) }
            return try JSONOutput.read(text)
        } catch {
            throw error as? RunResultFault ?? .notAResult((error as? DecodingError)?.reason ?? "\(error)")
        }
    }
}

enum RunResultFault: Error, Hashable, CustomStringConvertible {
    case notAResult(String)
    case otherSchema(Int)

    var description: String {
        switch self {
        case .notAResult(let reason): "this is no result of a load run. \(reason)"
        case .otherSchema(let schema):
            "this result has schema \(schema), and this program reads schema \(RunResult.schema): use the version of "
                + "receipt-loadtest that wrote it"
        }
    }
}

extension DecodingError {
    /// `plan.stages.0.seconds is missing.`
    fileprivate var reason: String {
        switch self {
        case .keyNotFound(let key, let context): Self.place(context.codingPath + [key]) + " is missing."
        case .typeMismatch(_, let context), .valueNotFound(_, let context), .dataCorrupted(let context):
            [Self.place(context.codingPath), context.debugDescription].filter { !$0.isEmpty }.joined(separator: ": ")
        @unknown default: "\(self)"
        }
    }

    private static func place(_ path: [any CodingKey]) -> String {
        path.map { key in
            key.intValue.map(String.init) ?? key.stringValue.replacing(/[A-Z]/) { "_" + $0.output.lowercased() }
        }.joined(separator: ".")
    }
}
