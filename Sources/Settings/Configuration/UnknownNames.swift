// SPDX-License-Identifier: Apache-2.0

internal import Clients

/// Reports settings that do not exist: a misspelt name must not silently leave a default in place.
struct UnknownNames {
    private let known = ConfigurationKeys.all.flatMap { key in [key.fileName, key.secretFileName].compactMap(\.self) }
    private let inFile: Bool

    static func problems(environment: [String: String], file: ConfigurationFile?) -> [ConfigurationProblem] {
        UnknownNames(inFile: false).problems(environment) + (file.map(UnknownNames(inFile: true).problems) ?? [])
    }

    private init(inFile: Bool) { self.inFile = inFile }

    // MARK: - The environment

    private func problems(_ environment: [String: String]) -> [ConfigurationProblem] {
        let variables = Set(known.map(ConfigurationKey.environmentName(of:)) + [ConfigurationSource.fileVariable])
        let unknown = environment.keys.filter { name in
            // Of the variables in lower case only these are certainly meant for the gateway.
            if variables.contains(name.uppercased()) { return !variables.contains(name) }
            return name.hasPrefix("GATEWAY_") && !isServiceLink(name, environment[name] ?? "")
        }
        return unknown.sorted().map { name in
            let words = name.lowercased().split(separator: "_").dropFirst().joined(separator: "_")
            return ConfigurationProblem(
                location: name.printable(), fault: "is not a setting of the gateway\(hint(for: words))")
        }
    }

    /// True for the variables that Kubernetes sets in every container of a namespace with a Service named `gateway`,
    /// such as `GATEWAY_SERVICE_HOST` and `GATEWAY_PORT_8080_TCP_ADDR`.
    private func isServiceLink(_ name: String, _ value: String) -> Bool {
        // Kubernetes sets a URL; a number is meant for `GATEWAY_HTTP_PORT`.
        name == "GATEWAY_PORT" && value.contains("://") || name.contains("_SERVICE_HOST")
            || name.contains("_SERVICE_PORT") || name.contains(/_PORT_\d+_(TCP|UDP|SCTP)/)
    }

    // MARK: - The file

    private func problems(_ file: ConfigurationFile) -> [ConfigurationProblem] {
        let unknown = file.entries.keys.filter { name in
            // What is below a setting is reported with the setting.
            !known.contains { name == $0 || name.hasPrefix("\($0).") }
        }.sorted()
        let outside = unknown.filter { known.contains("gateway.\($0)") }
        return unknown.filter { !outside.contains($0) }.map { name in
            ConfigurationProblem(location: file.location(of: name), fault: fault(of: name, in: file))
        } + problem(of: outside, in: file)
    }

    /// Reports settings beside the group `gateway`, or without it, in one problem.
    private func problem(of outside: [String], in file: ConfigurationFile) -> [ConfigurationProblem] {
        guard let first = outside.min(by: { (file.entries[$0]?.line ?? 0) < (file.entries[$1]?.line ?? 0) }) else {
            return []
        }
        let others = outside.count == 1 ? "is" : "and \(outside.count - 1) more are"
        let fault = "\(others) not below `gateway:`; write `gateway:` in a line above, and indent what belongs to it"
        return [ConfigurationProblem(location: file.location(of: first), fault: fault)]
    }

    private func fault(of name: String, in file: ConfigurationFile) -> String {
        let group = known.filter { $0.hasPrefix("\(name).") }
        switch file.entries[name]?.content {
        case .empty where !group.isEmpty:
            return "is empty; indent its settings below it, or remove it"
        case _ where !group.isEmpty:
            return "is a group of settings and no value; settings below it: \(group.listed)"
        case _:
            if let setting = known.first(where: { ConfigurationKey.environmentName(of: $0) == name.uppercased() }) {
                return "is a name for the environment; in a file it is \(setting)"
            }
            let rest = name.split(separator: ".", maxSplits: 1).dropFirst().first ?? ""
            return "is not a setting of the gateway\(hint(for: String(rest.replacing(".", with: "_"))))"
        }
    }

    // MARK: - Hints

    /// Returns what may be meant by a name, whose parts are joined with `_`: a setting with few other letters, settings
    /// with the name's words, or the settings of its group.
    private func hint(for name: String) -> String {
        guard (1...Self.longestName).contains(name.utf8.count) else { return "" }
        let names = Dictionary(uniqueKeysWithValues: known.map { (shortName($0), $0) })
        if let near = NearestName.of(name, among: names.keys.sorted(), maximumEdits: max(2, name.utf8.count / 4)) {
            return "; did you mean \(shown(names[near] ?? near))?"
        }
        let settings = ConfigurationKeys.all.map(\.fileName)
        let alike = settings.filter { name.hasPrefix(shortName($0)) || contains(shortName($0), wordsOf: name) }
        if !alike.isEmpty {
            let listed = alike.map(shown).listed
            return alike.count == 1 ? "; did you mean \(listed)?" : "; did you mean one of \(listed)?"
        }
        let group = name.prefix { $0 != "_" } + "_"
        if group == "redis_" {
            return "; \(shown("gateway.redis.url")) has the host, the port, the database and TLS of Redis"
        }
        let listed = settings.filter { shortName($0).hasPrefix(group) }.map(shown).listed
        return listed.isEmpty ? "" : "; settings with this beginning: \(listed)"
    }

    private static let longestName = 100

    /// Returns `http_port` for `gateway.http.port`.
    private func shortName(_ fileName: String) -> String {
        String(fileName.dropFirst("gateway.".count).replacing(".", with: "_"))
    }

    private func shown(_ fileName: String) -> String {
        inFile ? fileName : ConfigurationKey.environmentName(of: fileName)
    }

    /// Returns true if a setting has all words of a name, in this order.
    private func contains(_ setting: String, wordsOf name: String) -> Bool {
        var rest = setting.split(separator: "_")[...]
        return name.split(separator: "_").allSatisfy { word in
            guard let index = rest.firstIndex(of: word) else { return false }
            rest = rest[(index + 1)...]
            return true
        }
    }
}
