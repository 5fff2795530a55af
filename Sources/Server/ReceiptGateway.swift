// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Telemetry

@main
struct ReceiptGateway: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "receipt-gateway",
        abstract: "Verify App Store receipts for your backends.",
        discussion: """
            Quick start, on this machine only and without API keys:

              receipt-gateway serve
              curl -s http://127.0.0.1:8080/v1/verify -H 'content-type: application/json' \\
                -d '{"receipt": "MII..."}'

            Every setting has one name in files, gateway.http.port, and one in the environment, GATEWAY_HTTP_PORT. \
            GATEWAY_CONFIG_FILE names the file for commands without --config. \
            `receipt-gateway check-config` lists them with their values, `receipt-gateway doctor` checks the gateway's \
            environment.

            Completions for bash, zsh and fish:

              source <(receipt-gateway --generate-completion-script bash)

            Exit status: 0 for success, 64 if the command line is wrong, 78 if the configuration is wrong, 1 for \
            everything else; see the help of each command.
            """,
        version: Version.withCommit,
        subcommands: [
            ServeCommand.self, InitCommand.self, CheckConfigurationCommand.self, DoctorCommand.self,
            HealthCommand.self, VerifyFileCommand.self, NotificationsCommand.self, EventsCommand.self,
            WebhookCommand.self,
            VerificationsCommand.self, ComparisonCommand.self, HashKeyCommand.self, SealKeyCommand.self,
        ],
        defaultSubcommand: ServeCommand.self)
}
