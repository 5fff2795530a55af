// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Clients
internal import Settings
internal import Telemetry
#if canImport(FoundationEssentials)
    internal import FoundationEssentials
#else
    internal import Foundation
#endif

struct ConfigurationOptions: ParsableArguments {
    @Option(
        name: .shortAndLong,
        help: ArgumentHelp(
            """
            A YAML or JSON file with settings under the key `gateway`; by default the one that GATEWAY_CONFIG_FILE \
            names. Environment variables override it.
            """,
            valueName: "file"),
        completion: .file(extensions: ["yaml", "yml", "json"]))
    var config: String?

    var environment: [String: String] { ProcessInfo.processInfo.environment }
    var source: ConfigurationSource { ConfigurationSource(environment: environment, filePath: config) }

    /// Loads the configuration; otherwise prints every problem on standard error, and exits with status 78 (EX_CONFIG).
    /// - Parameter files: reads the files, and remembers them.
    func load(through files: FileReadings = FileReadings()) throws -> GatewayConfiguration {
        try orExit { () throws(ConfigurationProblems) in try source.load(readFile: files.read) }
    }
}

/// Runs a body that may find the configuration wrong; prints the problems and exits.
func orExit<Value>(_ body: () throws(ConfigurationProblems) -> Value) throws -> Value {
    do throws(ConfigurationProblems) {
        return try body()
    } catch {
        StandardError.write(error.description)
        throw ExitCode.misconfigured
    }
}

extension ExitCode {
    /// EX_CONFIG of sysexits.h: a configuration error.
    static let misconfigured = ExitCode(78)
}
