// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Events
internal import HTTPServer
internal import JSON

/// The query of `GET /v1/events`: parameters of a closed list.
struct EventsQuery {
    enum Limits {
        static let items = 64
        static let count = 1...1000
        static let defaultCount = 100
        /// The seconds that a request may wait for an event.
        static let wait = 0...60
    }

    enum Parameter: String, CaseIterable {
        case after
        case bundleID = "bundle_id"
        case limit
        case signedData = "signed_data"
        case types
        case wait
    }

    private var values: [Parameter: [String]] = [:]

    /// - Parameter text: the query as sent; nil for none.
    init(_ text: String?) throws(Problem) {
        let items = (text ?? "").split(separator: "&")
        guard items.count <= Limits.items else { throw .invalidQuery("The query has more than \(Limits.items) items.") }
        for item in items {
            let parts = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let parameter = Parameter(rawValue: String(parts[0])) else { throw .unknownParameter }
            guard parts.count == 2, let value = parts[1].percentDecoded else {
                throw .invalidQuery(parameter, "has no value, or a % that two hexadecimal digits do not follow")
            }
            values[parameter, default: []].append(value)
        }
    }

    var bundleIDs: [String] { values[.bundleID] ?? [] }

    func after() throws(Problem) -> String? { try only(.after) }

    func count() throws(Problem) -> Int {
        guard let text = try only(.limit) else { return Limits.defaultCount }
        guard let count = Int(text), Limits.count.contains(count) else {
            throw .invalidQuery(.limit, "is from \(Limits.count.lowerBound) to \(Limits.count.upperBound)")
        }
        return count
    }

    func wait() throws(Problem) -> Duration {
        guard let text = try only(.wait) else { return .zero }
        let digits = text.hasSuffix("s") ? text.dropLast() : text[...]
        guard let seconds = Int(digits), Limits.wait.contains(seconds) else {
            throw .invalidQuery(.wait, "is whole seconds, up to \(Limits.wait.upperBound)s")
        }
        return .seconds(seconds)
    }

    func wantsSignedData() throws(Problem) -> Bool {
        guard let text = try only(.signedData) else { return false }
        guard let value = Bool(text) else { throw .invalidQuery(.signedData, "is true or false") }
        return value
    }

    /// Returns the types; nil for all.
    func types() throws(Problem) -> Set<EventType>? {
        guard let text = try only(.types) else { return nil }
        var types: Set<EventType> = []
        for pattern in text.split(separator: ",", omittingEmptySubsequences: false) {
            let named = EventType.matching(pattern)
            guard !named.isEmpty else {
                throw .invalidQuery(.types, "is a list of event types, such as purchase.completed,subscription.*")
            }
            types.formUnion(named)
        }
        return types
    }

    func has(_ parameter: Parameter) -> Bool { values[parameter] != nil }

    private func only(_ parameter: Parameter) throws(Problem) -> String? {
        guard let values = values[parameter] else { return nil }
        guard values.count == 1 else { throw .invalidQuery(parameter, "may stand in the query only once") }
        return values[0]
    }
}

extension Substring {
    /// The text with its percent-encoded bytes decoded (RFC 3986 §2.1); nil for a `%` without two digits.
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
        return String(decoding: bytes, as: UTF8.self)
    }
}
