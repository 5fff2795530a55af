// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import HTTPServer
internal import HTTPTypes
internal import JSON

/// The parameters of a query, whose names are of a closed list.
struct QueryParameters<Name: RawRepresentable<String> & CaseIterable & Hashable> {
    private var values: [Name: [String]] = [:]

    /// - Parameters:
    ///   - text: the query as sent; nil for none.
    ///   - maximumCount: the items it may have.
    init(_ text: String?, maximumCount: Int) throws(Problem) {
        let items = (text ?? "").split(separator: "&")
        guard items.count <= maximumCount else { throw .invalidQuery("The query has more than \(maximumCount) items.") }
        for item in items {
            let parts = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = Name(rawValue: String(parts[0])) else { throw Self.unknownName }
            guard parts.count == 2, let value = parts[1].percentDecoded else {
                throw .invalidQuery(name, "has no value, or a % that two hexadecimal digits do not follow")
            }
            values[name, default: []].append(value)
        }
    }

    /// Returns the values of a parameter that may be repeated.
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

    private static var unknownName: Problem {
        let names = Name.allCases.map(\.rawValue).joined(separator: ", ")
        return .invalidQuery("The query has a parameter that is none of \(names).")
    }
}

extension Problem {
    static func invalidQuery(_ detail: String) -> Problem { Problem(.badRequest, .invalidQuery, detail) }

    static func invalidQuery(_ parameter: some RawRepresentable<String>, _ fault: String) -> Problem {
        var problem = invalidQuery("\"\(parameter.rawValue)\" \(fault).")
        problem.field = parameter.rawValue
        return problem
    }
}

extension Substring {
    /// The text with its percent-encoded bytes decoded (RFC 3986 §2.1); nil for a `%` without two digits, and for a long
    /// text beyond ASCII.
    fileprivate var percentDecoded: String? {
        var bytes: [UInt8] = []
        var rest = utf8
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.popFirst().flatMap(ASCII.hexadecimalValue),
                let low = rest.popFirst().flatMap(ASCII.hexadecimalValue)
            else { return nil }
            bytes.append(high << 4 | low)
        }
        return String(outside: bytes)
    }
}
