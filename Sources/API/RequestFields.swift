// SPDX-License-Identifier: Apache-2.0

internal import HTTPServer
internal import HTTPTypes
internal import JSON

/// The parameters of a query, whose names are of a closed list.
struct QueryParameters<Name: RawRepresentable<String> & CaseIterable & Hashable> {
    private var values: [Name: [String]] = [:]

    /// - Parameter text: the query as sent; nil for none.
    init(_ text: String?, maximumCount: Int) throws(Problem) {
        let items = (text ?? "").split(separator: "&")
        guard items.count <= maximumCount else { throw .invalidQuery("The query has more than \(maximumCount) items.") }
        for item in items {
            let parts = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = Name(rawValue: String(parts[0])) else {
                let names = Name.allCases.map(\.rawValue).joined(separator: ", ")
                throw .invalidQuery("The query has a parameter that is none of \(names).")
            }
            // No long text beyond ASCII is a value.
            guard parts.count == 2, let bytes = parts[1].utf8.span.percentDecoded(), let value = String(outside: bytes)
            else {
                throw .invalidQuery(name, "has no value, or a % that two hexadecimal digits do not follow")
            }
            values[name, default: []].append(value)
        }
    }

    func all(_ name: Name) -> [String] { values[name] ?? [] }

    /// Returns the value of a parameter; nil for none.
    func only(_ name: Name) throws(Problem) -> String? {
        guard let values = values[name] else { return nil }
        guard values.count == 1 else { throw .invalidQuery(name, "may stand in the query only once") }
        return values[0]
    }

    /// Returns a number of seconds, with or without the unit; zero for none.
    func seconds(_ name: Name, upTo maximum: Int) throws(Problem) -> Duration {
        guard let text = try only(name) else { return .zero }
        let digits = text.hasSuffix("s") ? text.dropLast() : text[...]
        guard let seconds = Int(digits), (0...maximum).contains(seconds) else {
            throw .invalidQuery(name, "is whole seconds, up to \(maximum)s")
        }
        return .seconds(seconds)
    }
}

extension Problem {
    static func invalidQuery(_ detail: String) -> Problem { Problem(.badRequest, .invalidQuery, detail) }

    static func invalidQuery(_ parameter: some RawRepresentable<String>, _ fault: String) -> Problem {
        let name = parameter.rawValue
        return Problem(.badRequest, .invalidQuery, "\"\(name)\" \(fault).", field: name)
    }
}

extension JSONReader {
    /// The maximum bytes of a text; Apple's bundle identifiers and versions stay far below this.
    static let maximumTextBytes = 256

    /// Reads a body: an object with fields of a closed list, each at most once. Every fault names its field.
    /// - Parameters:
    ///   - misnamed: the names that other interfaces have for a field.
    ///   - read: reads the value of a field.
    /// - Returns: the fields of the body.
    mutating func fields<Field: RawRepresentable<String> & Hashable>(
        misnamed: [String: Field] = [:], _ read: (Field, inout JSONReader) throws(JSONFault) -> Void
    ) throws(JSONFault) -> Set<Field> {
        var seen: Set<Field> = []
        try beginObject()
        while let key = try nextKey() {
            let name = try value(of: key, maximumBytes: Self.maximumTextBytes)
            guard let field = Field(rawValue: name) else {
                let meant = misnamed[name].map { JSONFault.Rule.misnamedField(meant: $0.rawValue) }
                throw JSONFault(meant ?? .unknownField, field: String(name.prefix(64)), at: key.range.lowerBound)
            }
            guard seen.insert(field).inserted else {
                throw JSONFault(.duplicateField, field: name, at: key.range.lowerBound)
            }
            do throws(JSONFault) {
                try read(field, &self)
            } catch {
                throw error.inField(name)
            }
        }
        try endDocument()
        return seen
    }

    mutating func text() throws(JSONFault) -> String {
        try value(of: try string(), maximumBytes: Self.maximumTextBytes)
    }
}
