// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Logging

/// `receipt-gateway check-config`
struct CheckConfigurationCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check-config",
        abstract: "Check the configuration without starting anything.",
        discussion: """
            Reads the environment, the file and every file they name, as `serve` would, and opens no socket. Prints \
            the effective configuration, secrets redacted, or every problem at once.

            Exit status: 0 if `serve` would start with it, 78 if it is wrong.
            """)

    @OptionGroup var options: ConfigurationOptions

    func run() async throws {
        let configuration = try options.load()
        let surroundings = GatewaySurroundings(
            logger: Logger(label: "check-config") { _ in SwiftLogNoOpLogHandler() },
            shutdownRequests: AsyncStream { $0.finish() })
        _ = try options.orExit { () throws(ConfigurationProblems) in
            try buildGatewayServer(configuration, in: surroundings)
        }
        print(configuration.effectiveText, terminator: "")
    }
}

extension GatewayConfiguration {
    /// Each setting with its value, one per line, as YAML with full names; secrets are redacted.
    var effectiveText: String {
        ConfigurationKeys.all.map { key in
            let isDefault = key.text(self) == key.defaultText
            return "\(key.fileName): \(key.text(self))\(isDefault ? "  # default" : "")\n"
        }.joined()
    }
}
