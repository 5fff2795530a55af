// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A member or an element of a list that two answers to one request do not have in common.
struct AnswerDifference: Sendable, CustomStringConvertible {
    /// The names from the outermost member on. `[]` is an element of a list; the order of lists does not count.
    let path: String
    /// The values as JSON; nil without one.
    let before: String?
    let after: String?

    var description: String { "\(path): \(before ?? "none") before, \(after ?? "none") after" }
}

extension AnswerDifference {
    /// Returns all differences between two values of JSON.
    static func all(between before: Any?, and after: Any?, at path: String = "") -> [AnswerDifference] {
        if let before = before as? [String: Any], let after = after as? [String: Any] {
            return Set(before.keys).union(after.keys).sorted().flatMap { name in
                all(between: before[name], and: after[name], at: path.isEmpty ? name : "\(path).\(name)")
            }
        }
        if let before = before as? [[String: Any]], let after = after as? [[String: Any]] {
            return all(between: before, and: after, in: path + "[]")
        }
        let texts = (text(before), text(after))
        return texts.0 == texts.1 ? [] : [AnswerDifference(path: path, before: texts.0, after: texts.1)]
    }

    /// Compares the elements with the same transaction ID, or the plans for the same product.
    private static func all(
        between before: [[String: Any]], and after: [[String: Any]], in path: String
    ) -> [AnswerDifference] {
        let before = Dictionary(grouping: before, by: identity), after = Dictionary(grouping: after, by: identity)
        var differences: [AnswerDifference] = []
        for id in Set(before.keys).union(after.keys).sorted() {
            let one = sorted(before[id]), other = sorted(after[id])
            for index in 0..<max(one.count, other.count) {
                let first: Any? = index < one.count ? one[index] : nil
                let second: Any? = index < other.count ? other[index] : nil
                differences += all(between: first, and: second, at: path)
            }
        }
        return differences
    }

    private static func sorted(_ elements: [[String: Any]]?) -> [[String: Any]] {
        (elements ?? []).map { ($0, text($0) ?? "") }.sorted { $0.1 < $1.1 }.map(\.0)
    }

    private static func identity(_ element: [String: Any]) -> String {
        if let id = element["transaction_id"] as? String { return id }
        return ["original_transaction_id", "product_id"].compactMap { element[$0] as? String }.joined(separator: " ")
    }

    private static func text(_ value: Any?) -> String? {
        value.flatMap { try? JSONSerialization.data(withJSONObject: [$0], options: .sortedKeys) }
            .map { String(decoding: $0.dropFirst().dropLast(), as: UTF8.self) }
    }
}

/// Differences that remain between an answer of `verifyReceipt` and one made from the App Store Server API.
struct PermittedDifference: Sendable {
    enum Kind: Sendable {
        case changed, added, removed
    }

    let kinds: Set<Kind>
    let paths: Set<String>
    let reason: String

    init(_ kinds: Set<Kind> = [.changed], of paths: Set<String>, because reason: String) {
        self.kinds = kinds
        self.paths = paths
        self.reason = reason
    }

    func covers(_ difference: AnswerDifference) -> Bool {
        paths.contains(difference.path) && kinds.contains(difference.kind)
    }
}

extension AnswerDifference {
    fileprivate var kind: PermittedDifference.Kind {
        before == nil ? .added : after == nil ? .removed : .changed
    }
}

extension [AnswerDifference] {
    /// Returns the differences that none of these permit.
    func without(_ permitted: [PermittedDifference]) -> [AnswerDifference] {
        filter { difference in !permitted.contains { $0.covers(difference) } }
    }
}
