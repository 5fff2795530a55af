// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// Finds what somebody probably meant.
enum NearestName {
    /// The known name with the fewest edits from `name`, if they are few enough to be a slip.
    static func of(_ name: String, among known: some Sequence<String>) -> String? {
        let nearest = known.map { (name: $0, edits: edits(from: name, to: $0)) }.min { $0.edits < $1.edits }
        guard let nearest, nearest.edits <= max(2, name.count / 3) else { return nil }
        return nearest.name
    }

    /// The Levenshtein distance: insertions, deletions and substitutions of characters.
    static func edits(from source: String, to target: String) -> Int {
        let target = Array(target)
        var previous = Array(0...target.count)
        for (row, character) in source.enumerated() {
            var current = [row + 1]
            for column in target.indices {
                let substitution = previous[column] + (character == target[column] ? 0 : 1)
                current.append(min(substitution, previous[column + 1] + 1, current[column] + 1))
            }
            previous = current
        }
        return previous[target.count]
    }
}
