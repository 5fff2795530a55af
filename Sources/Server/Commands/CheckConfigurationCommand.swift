// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Clients
internal import Receipts
internal import Settings
internal import Telemetry

struct CheckConfigurationCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check-config",
        abstract: "Check the configuration without starting anything.",
        discussion: """
            Reads the environment, the file and every file they name, as `serve` would, and opens no socket. Prints \
            the effective configuration on standard output, secrets redacted, and warnings, or every problem at once, on \
            standard error:

              receipt-gateway check-config --config gateway.yaml
              receipt-gateway check-config | grep -v '# default'

            Exit status: 0 if `serve` would start with it, 78 if it is wrong.
            """)

    @OptionGroup var options: ConfigurationOptions

    func run() async throws {
        let configuration = try options.load()
        try orExit { () throws(ConfigurationProblems) in try configuration.tryOut() }
        print(configuration.effectiveText, terminator: "")
        try orExit { () throws(ConfigurationProblems) in try warn(about: configuration) }
    }

    /// Prints what `serve` starts with, although it is probably not intended.
    private func warn(about configuration: GatewayConfiguration) throws(ConfigurationProblems) {
        let rules = AccessRules(configuration, try ClientsFile(configuration, at: .now()))
        for (seen, advice) in configuration.startFaults(rules) {
            StandardError.write("Warning: \(seen). \(advice)\n")
        }
    }
}

extension GatewayConfiguration {
    /// Builds a gateway as `serve` would, and discards it: some problems show only then. Opens no socket.
    func tryOut() throws(ConfigurationProblems) {
        _ = try buildGatewayServer(self, in: .silent)
    }
}
