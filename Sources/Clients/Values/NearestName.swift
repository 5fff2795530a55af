// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package enum NearestName {
    /// Returns the known name with the fewest edits from `name`, if few enough for a typing error.
    package static func of(_ name: String, among known: some Sequence<String>) -> String? {
        guard name.utf8.count <= String.maximumShownName else { return nil }
        let slips = max(2, name.utf8.count / 3)
        // Each character more or less is an edit, so most names need no comparison.
        let near = known.filter { abs($0.utf8.count - name.utf8.count) <= slips }
        let nearest = near.map { (name: $0, edits: edits(from: name.utf8, to: $0.utf8)) }.min { $0.edits < $1.edits }
        guard let nearest, nearest.edits <= slips else { return nil }
        return nearest.name
    }

    /// Returns the Levenshtein distance in bytes: insertions, deletions and substitutions.
    static func edits(from source: String.UTF8View, to target: String.UTF8View) -> Int {
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
