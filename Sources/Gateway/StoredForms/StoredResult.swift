// SPDX-License-Identifier: Apache-2.0

package import Receipts
internal import Resilience

/// A result as it is stored for all nodes, with times by the writer's clock. Apple's JSON is never parsed again, only
/// passed on to clients that need Apple's original answer.
package struct StoredResult: Sendable, StoredForm {
    package private(set) var result: UpstreamResult
    /// The purges known before the request to Apple.
    private var purges: PurgePosition
    /// The time of Apple's reply.
    private var fetchedAt: Timestamp
    /// The freshness after that.
    package private(set) var freshness: Duration
    package private(set) var took: Duration
    /// The time to live in the store.
    package private(set) var retention: Duration
    /// Apple's status code; -1 for none.
    private var status: Int
    private var roots: Set<OperatorsRoot>

    private static let version: UInt8 = 12

    package init(known: CachedResult, retention: Duration) {
        (result, purges, fetchedAt) = (known.result, known.purges, known.fetchedAt)
        freshness = known.fetchedAt.duration(to: known.freshUntil)
        (took, self.retention, status) = (min(known.took, Limits.took), retention, known.status ?? -1)
        roots = known.roots
    }

    package var known: CachedResult {
        CachedResult(
            result, status: status == -1 ? nil : status, fetchedAt: fetchedAt,
            freshUntil: fetchedAt.advanced(by: freshness), took: took, purges: purges, roots: roots)
    }

    package enum Limits {
        /// The maximum duration of a request.
        package static let took: Duration = .seconds(60)
    }

    /// The stored form; nil if the result is useless to other nodes.
    package var bytes: [UInt8]? { result.storedKind == nil ? nil : storedBytes }

    /// Reads a stored form. Its times may be any.
    package init(storedBytes: [UInt8]) throws(StoredFormFault) {
        self.init(
            known: CachedResult(.accountNotFound, fetchedAt: .earliest, freshUntil: .earliest), retention: .zero)
        try read(storedBytes)
    }

    package mutating func visitForm<Form: StoredFormVisitor>(_ form: inout Form) throws(Form.Failure) {
        var kind = result.storedKind ?? .accountNotFound
        try form.version(Self.version)
        try form.code(&kind)
        try form.position(&purges)
        try form.time(&fetchedAt)
        try form.duration(&freshness)
        try form.duration(&took)
        try form.duration(&retention)
        try form.number(&status)
        try form.roots(&roots)
        try result.visitForm(&form, of: kind)
    }
}

extension StoredFormVisitor {
    fileprivate mutating func position(_ value: inout PurgePosition) throws(Failure) {
        var history = value.history, number = value.number, name = value.name
        try self.number(&history)
        try self.number(&number)
        try self.number(&name)
        value = PurgePosition(history: history, number: number, name: name)
    }

    fileprivate mutating func roots(_ value: inout Set<OperatorsRoot>) throws(Failure) {
        var roots = value.map { StoredRoot(fingerprint: $0.fingerprint.description, environment: $0.environment) }
        // The same bytes for the same set.
        roots.sort { ($0.fingerprint, $0.environment.rawValue) < ($1.fingerprint, $1.environment.rawValue) }
        try list(&roots, of: StoredRoot(fingerprint: "", environment: .production))
        value = Set(roots.compactMap(\.root))
    }
}

/// A root of `CachedResult.roots`.
private struct StoredRoot: StoredForm {
    /// In hexadecimal digits.
    var fingerprint: String
    var environment: Environment

    var root: OperatorsRoot? { Fingerprint(hexadecimal: fingerprint).map { OperatorsRoot($0, environment) } }

    mutating func visitForm<Form: StoredFormVisitor>(_ form: inout Form) throws(Form.Failure) {
        try form.text(&fingerprint)
        try form.environment(&environment)
        if root == nil { try form.invalid("root") }
    }
}
