// SPDX-License-Identifier: Apache-2.0

/// A problem of the configuration, in a sentence that begins with its place.
package struct ConfigurationProblem: Hashable, Sendable, CustomStringConvertible {
    /// An environment variable, a key with its file and line, or a file.
    package let location: String
    package let fault: String

    package init(location: String, fault: String) {
        self.location = location
        self.fault = fault
    }

    package init(_ fault: FileFault) {
        self.init(location: fault.path, fault: fault.description)
    }

    /// One line, whatever the quoted texts contain.
    package var description: String {
        "\(location.printable(maximum: Self.maximumShownText)): \(fault.printable(maximum: Self.maximumShownText))"
    }

    /// Longer than any place or fault of the gateway's own; quoted values may exceed it.
    private static let maximumShownText = 1000
}

package struct ConfigurationProblems: Error, Hashable, Sendable, CustomStringConvertible {
    package let problems: [ConfigurationProblem]

    package init(problems: [ConfigurationProblem]) {
        self.problems = problems
    }

    package init(_ location: String, _ fault: String) {
        self.init(problems: [ConfigurationProblem(location: location, fault: fault)])
    }

    package static func of(_ check: () throws(ConfigurationProblems) -> Void) -> [ConfigurationProblem] {
        do throws(ConfigurationProblems) {
            try check()
            return []
        } catch {
            return error.problems
        }
    }

    /// The maximum number of problems shown; more problems mean that this is probably the wrong file.
    package static let maximumShown = 100

    package var description: String {
        let count = problems.count == 1 ? "1 problem" : "\(problems.count) problems"
        let shown = problems.prefix(Self.maximumShown).map { "  - \($0)\n" }
        let rest = problems.count > Self.maximumShown ? "  and \(problems.count - Self.maximumShown) more\n" : ""
        return "\(count) in the configuration:\n" + shown.joined() + rest
    }
}

extension String {
    /// The maximum length of a name shown whole, in Unicode scalars; settings have at most half that length.
    static let maximumShownName = 100

    /// Returns the text safe for a terminal: at most `maximum` scalars. Invisible scalars, and scalars that move the
    /// cursor or change the direction, appear as `\u{1B}`.
    package func printable(maximum: Int = maximumShownName) -> String {
        var shown = ""
        for scalar in unicodeScalars.prefix(maximum) {
            if scalar.isVisible {
                shown.unicodeScalars.append(scalar)
            } else {
                shown += "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
            }
        }
        return unicodeScalars.dropFirst(maximum).isEmpty ? shown : shown + "…"
    }
}

extension [String] {
    private static var maximumListed: Int { 5 }

    /// The first few names, and the number of further names.
    package var listed: String {
        let rest = count > Self.maximumListed ? " and \(count - Self.maximumListed) more" : ""
        return prefix(Self.maximumListed).map { $0.printable() }.joined(separator: ", ") + rest
    }
}

extension Unicode.Scalar {
    fileprivate var isVisible: Bool {
        switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate, .unassigned: false
        default: true
        }
    }
}

package enum NearestName {
    /// Returns the known name with the fewest edits from `name`, if few enough for a typing error.
    /// - Parameter maximumEdits: nil for a third of the letters.
    package static func of(
        _ name: String, among known: some Sequence<String>, maximumEdits: Int? = nil
    ) -> String? {
        guard name.utf8.count <= String.maximumShownName else { return nil }
        let slips = maximumEdits ?? max(2, name.utf8.count / 3)
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
