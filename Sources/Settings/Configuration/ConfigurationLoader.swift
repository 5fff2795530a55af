// SPDX-License-Identifier: Apache-2.0

package import Clients
package import Cryptography
package import HTTPServer
internal import Receipts

/// The source of the configuration, at the start and at each reload.
package struct ConfigurationSource: Sendable {
    /// The environment variables, which do not change while the process runs. An empty variable counts as not set.
    let environment: [String: String]
    /// The file of the command line, which wins over the variable.
    private let option: String?

    /// The variable that names the file for every command without `--config`.
    static let fileVariable = "GATEWAY_CONFIG_FILE"

    package init(environment: [String: String], filePath: String?) {
        self.environment = environment
        option = filePath
    }

    /// The configuration file; nil if neither the command line nor the variable names one.
    package var filePath: String? { option ?? environment[Self.fileVariable].flatMap { $0.isEmpty ? nil : $0 } }

    /// Returns the problem of a configuration file that cannot be read, at the place that names the file.
    fileprivate func problem(_ fault: FileFault) -> ConfigurationProblem {
        guard option == nil, let filePath else { return ConfigurationProblem(fault) }
        return ConfigurationProblem(location: Self.fileVariable, fault: "\(filePath) \(fault)")
    }

    /// Returns the configuration, or throws all its problems.
    /// - Parameter readFile: reads a text file.
    package func load(
        readFile: @escaping (String) throws(FileFault) -> String = TextFile.read
    ) throws(ConfigurationProblems) -> GatewayConfiguration {
        var loader = ConfigurationLoader(self, readFile: readFile)
        loader.readAll()
        return try loader.result
    }

    /// Returns the settings of `hash-key` and `seal-key`, which must work before the rest of the configuration does.
    package func keySettings() throws(ConfigurationProblems) -> (pepper: Secret, form: EncryptionKeyForm) {
        let configuration = try load([ConfigurationKeys.pepper, ConfigurationKeys.keyForm])
        if let pepper = configuration.apiKeyPepper { return (pepper, configuration.form.keyForm) }
        throw ConfigurationProblems(
            "GATEWAY_API_KEY_PEPPER",
            #"""
            is not set; name the file with the gateway's settings with --config, or for a new gateway make one: export \#
            GATEWAY_API_KEY_PEPPER="$(openssl rand -base64 32)"
            """#)
    }

    /// Returns the admin listener: `health` needs no more, and may lack the rights to read secrets.
    package func admin() throws(ConfigurationProblems) -> ListenerConfiguration {
        try load(ConfigurationKeys.admin).admin
    }

    /// Returns the settings of verifications without Apple, which need no secret and no clients.
    package func localVerification() throws(ConfigurationProblems) -> GatewayConfiguration {
        try load(ConfigurationKeys.verification + [ConfigurationKeys.expiryDelay])
    }

    private func load(_ keys: [ConfigurationKey]) throws(ConfigurationProblems) -> GatewayConfiguration {
        var loader = ConfigurationLoader(self)
        for key in keys { loader.read(key) }
        return try loader.result
    }
}

/// Reads the configuration once: environment variables override the file, the file overrides the defaults.
struct ConfigurationLoader {
    private let environment: [String: String]
    /// The standard variables whose values are in `environment` by the gateway's names.
    private let standardNames: [String: String]
    private let file: ConfigurationFile?
    private let readFile: (String) throws(FileFault) -> String
    private(set) var configuration = GatewayConfiguration()
    private(set) var problems: [ConfigurationProblem] = []
    /// The settings with invalid values, whose defaults are not checked for contradictions.
    private var faultyNames: Set<String> = []

    init(
        _ source: ConfigurationSource, readFile: @escaping (String) throws(FileFault) -> String = TextFile.read
    ) {
        let own = source.environment.filter { !$0.value.isEmpty }
        self.readFile = readFile
        do throws(FileFault) {
            file = try source.filePath.map { path throws(FileFault) in
                ConfigurationFile(path: path, text: try readFile(path))
            }
        } catch {
            file = nil
            problems = [source.problem(error)]
        }
        let endpoint = ConfigurationKey.environmentName(of: Self.tracesEndpoint)
        let standard = StandardVariables(
            own, hasEndpoint: own[endpoint] != nil || file?.text(of: Self.tracesEndpoint) != nil)
        (environment, standardNames) = (own.merging(standard.values) { own, _ in own }, standard.origins)
        problems += (file?.problems ?? []) + standard.problems
    }

    private static let tracesEndpoint = "gateway.traces.endpoint"

    var result: GatewayConfiguration {
        get throws(ConfigurationProblems) {
            guard problems.isEmpty else { throw ConfigurationProblems(problems: problems) }
            return configuration
        }
    }

    /// Reads every setting, reports unknown names, and checks the files that settings name.
    mutating func readAll() {
        for key in ConfigurationKeys.all { read(key) }
        problems += UnknownNames.problems(environment: environment, file: file)
        let settings = configuration.contradictions + configuration.fileProblems(readFile: readFile)
        problems += settings.filter { !faultyNames.contains($0.location) }.map(placed)
        problems += ConfigurationProblems.of { () throws(ConfigurationProblems) in
            _ = try TrustStore(configuration, readFile: readFile)
        }.map(placed)
        problems += ConfigurationProblems.of { () throws(ConfigurationProblems) in
            _ = try ServerCertificates(configuration, readFile: readFile)
        }.map(placed)
        problems += ConfigurationProblems.of { () throws(ConfigurationProblems) in
            _ = try AnswerKeys(configuration, readFile: readFile)
        }.map(placed)
        problems += ConfigurationProblems.of { () throws(ConfigurationProblems) in
            _ = try ClientsFile(configuration, at: .now(), readFile: readFile)
        }.map(placed)
    }

    /// Returns a problem with the place where its setting is set, if it is a setting's and the setting is set.
    private func placed(_ problem: ConfigurationProblem) -> ConfigurationProblem {
        guard problem.location.hasPrefix("gateway.") else { return problem }
        return ConfigurationProblem(location: location(of: problem.location), fault: problem.fault)
    }

    /// Reads one setting; keeps the default if it is not set.
    mutating func read(_ key: ConfigurationKey) {
        if reportUnusable(key) { return }
        var (text, path) = (text(of: key.fileName), key.secretFileName.flatMap { self.text(of: $0) })
        if text != nil, path != nil {
            // The environment wins over the file, also in the other form.
            let isHere = isInEnvironment(key.fileName), isPathHere = key.secretFileName.map(isInEnvironment) ?? false
            if isHere, !isPathHere { path = nil } else if isPathHere, !isHere { text = nil }
        }
        switch (text, path) {
        case (let text?, nil):
            set(key, to: text, from: location(of: key.fileName))
            if let file, !isInEnvironment(key.fileName) { key.place(&configuration, file.path) }
        case (nil, let path?): setSecret(key, fromFile: path)
        case (nil, nil): return
        case (_?, _?):
            report(key, "is set, and so is its _file variant; set only one", at: location(of: key.fileName))
        }
    }

    /// Reports a setting that the file has without a value, as a group or as a list of groups.
    private mutating func reportUnusable(_ key: ConfigurationKey) -> Bool {
        guard let file else { return false }
        for name in [key.fileName, key.secretFileName].compactMap(\.self) {
            // The environment may fill what a file leaves empty.
            if isInEnvironment(name), file.entries[name]?.content == .empty { continue }
            guard let (entry, fault) = file.unusableEntry(of: name) else { continue }
            report(key, "\(fault); accepted: \(key.accepted)", at: file.location(of: entry))
            return true
        }
        return false
    }

    private func isInEnvironment(_ fileName: String) -> Bool {
        environment[ConfigurationKey.environmentName(of: fileName)] != nil
    }

    private func text(of fileName: String) -> String? {
        environment[ConfigurationKey.environmentName(of: fileName)] ?? file?.text(of: fileName)
    }

    private mutating func setSecret(_ key: ConfigurationKey, fromFile named: String) {
        let name = key.secretFileName ?? key.fileName
        let path = isInEnvironment(name) ? named : TextFile.path(named, namedIn: file?.path ?? "")
        do throws(FileFault) {
            set(key, to: try readFile(path).withoutLineEnds, from: path)
        } catch {
            // Without what is written if it may be the secret, set in the wrong place: base64 may begin with a slash.
            let folder = path == named ? "" : " in the folder of \(file?.path ?? "")"
            let shown = named.hasPrefix("/") && !named.hasSuffix("=") ? named : "the file\(folder)"
            report(key, "\(shown) \(error.description)", at: location(of: name))
        }
    }

    private mutating func set(_ key: ConfigurationKey, to text: String, from location: String) {
        do throws(ConfigurationValueFault) {
            try key.set(&configuration, text)
        } catch {
            report(key, "\(error.description); accepted: \(key.accepted)", at: location)
        }
    }

    private mutating func report(_ key: ConfigurationKey, _ fault: String, at location: String) {
        faultyNames.insert(key.fileName)
        problems.append(ConfigurationProblem(location: location, fault: fault))
    }

    private func location(of fileName: String) -> String {
        if isInEnvironment(fileName) {
            let name = ConfigurationKey.environmentName(of: fileName)
            return standardNames[name] ?? name
        }
        guard let file, file.entries[fileName] != nil else { return fileName }
        return file.location(of: fileName)
    }
}
