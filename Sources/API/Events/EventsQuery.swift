// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Customers
internal import HTTPServer

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

    private let parameters: QueryParameters<Parameter>

    /// - Parameter text: the query as sent; nil for none.
    init(_ text: String?) throws(Problem) {
        parameters = try QueryParameters(text, maximumCount: Limits.items)
    }

    var bundleIDs: [String] { parameters.all(.bundleID) }

    func after() throws(Problem) -> String? { try parameters.only(.after) }

    func count() throws(Problem) -> Int {
        guard let text = try parameters.only(.limit) else { return Limits.defaultCount }
        guard let count = Int(text), Limits.count.contains(count) else {
            throw .invalidQuery(Parameter.limit, "is from \(Limits.count.lowerBound) to \(Limits.count.upperBound)")
        }
        return count
    }

    func wait() throws(Problem) -> Duration { try parameters.seconds(.wait, upTo: Limits.wait.upperBound) }

    func wantsSignedData() throws(Problem) -> Bool {
        guard let text = try parameters.only(.signedData) else { return false }
        guard let value = Bool(text) else { throw .invalidQuery(Parameter.signedData, "is true or false") }
        return value
    }

    /// Returns the types; nil for all.
    func types() throws(Problem) -> Set<EventType>? {
        guard let text = try parameters.only(.types) else { return nil }
        var types: Set<EventType> = []
        for pattern in text.split(separator: ",", omittingEmptySubsequences: false) {
            let named = EventType.matching(pattern)
            guard !named.isEmpty else {
                throw .invalidQuery(
                    Parameter.types, "is a list of event types, such as purchase.completed,subscription.*")
            }
            types.formUnion(named)
        }
        return types
    }

    func has(_ parameter: Parameter) -> Bool { !parameters.all(parameter).isEmpty }
}
