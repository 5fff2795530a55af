// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Secrets
internal import Settings
internal import Telemetry
#if canImport(FoundationEssentials)
    internal import FoundationEssentials
#else
    internal import Foundation
    internal import Secrets
#endif

/// The options of every command that reads the configuration.
struct ConfigurationOptions: ParsableArguments {
    @Option(
        name: .shortAndLong,
        help: ArgumentHelp(
            "A YAML or JSON file with settings under the key `gateway`. Environment variables win over it.",
            valueName: "file"),
        completion: .file(extensions: ["yaml", "yml", "json"]))
    var config: String?

    /// Where the configuration comes from.
    var source: ConfigurationSource {
        ConfigurationSource(environment: ProcessInfo.processInfo.environment, filePath: config)
    }

    /// The configuration; otherwise every problem on standard error, and exit status 78 (EX_CONFIG).
    /// - Parameter files: where files are read, and remembered.
    func load(through files: FileReadings = FileReadings()) throws -> GatewayConfiguration {
        try orExit { () throws(ConfigurationProblems) in try source.load(through: files) }
    }

    /// The pepper alone, whatever else is configured or wrong.
    func pepper() throws(ConfigurationProblems) -> Secret {
        try ConfigurationLoader.pepper(environment: ProcessInfo.processInfo.environment, filePath: config)
    }

    /// Where the admin plane listens, whatever else is configured or wrong.
    func admin() throws(ConfigurationProblems) -> ListenerConfiguration {
        try ConfigurationLoader.admin(environment: ProcessInfo.processInfo.environment, filePath: config)
    }

    /// Runs something that may find the configuration wrong.
    func orExit<Value>(_ body: () throws(ConfigurationProblems) -> Value) throws -> Value {
        do throws(ConfigurationProblems) {
            return try body()
        } catch {
            StandardError.write(error.description)
            throw ExitCode.misconfigured
        }
    }
}

extension ExitCode {
    /// EX_CONFIG of sysexits.h: something is wrong with the configuration.
    static let misconfigured = ExitCode(78)
}
