// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// Reports settings that do not exist: a misspelt name must not silently leave a default in place.
enum UnknownNames {
    /// Returns a problem for each unknown name in the environment and the file.
    static func problems(environment: [String: String], file: ConfigurationFile?) -> [ConfigurationProblem] {
        let known = ConfigurationKeys.all.flatMap { key in
            [key.fileName] + (key.isSecret ? [key.fileName + "_file"] : [])
        }
        let knownVariables = known.map(ConfigurationKey.environmentName(of:))
        let variables = environment.keys.filter { name in
            name.hasPrefix("GATEWAY_") && !knownVariables.contains(name) && !isServiceLink(name)
        }
        let fileNames = (file?.entries.keys ?? [:].keys).filter { !known.contains($0) }
        return variables.sorted().map { problem($0, at: $0.printable(), known: knownVariables) }
            + fileNames.sorted().map { problem($0, at: file?.location(of: $0) ?? $0, known: known) }
    }

    private static func problem(_ name: String, at location: String, known: [String]) -> ConfigurationProblem {
        let hint = NearestName.of(name, among: known).map { "; did you mean \($0)?" } ?? ""
        return ConfigurationProblem(location: location, fault: "is not a setting of the gateway\(hint)")
    }

    /// True for the variables that Kubernetes sets in every container of a namespace with a Service named `gateway`,
    /// such as `GATEWAY_SERVICE_HOST` and `GATEWAY_PORT_8080_TCP_ADDR`.
    private static func isServiceLink(_ name: String) -> Bool {
        name == "GATEWAY_PORT" || name.contains("_SERVICE_HOST") || name.contains("_SERVICE_PORT")
            || name.contains(/_PORT_\d+_(TCP|UDP|SCTP)/)
    }
}

/// Suggests known names for misspelt ones.
enum NearestName {
    /// Returns the known name with the fewest edits from `name`, if few enough for a typing error.
    static func of(_ name: String, among known: some Sequence<String>) -> String? {
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
