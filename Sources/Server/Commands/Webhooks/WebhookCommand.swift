// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser

struct WebhookCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "webhook",
        abstract: "Test the endpoints of webhooks.",
        discussion: """
            `receipt-gateway events endpoints` shows their state.

            Exit status: 0 for success; see the help of each command.
            """,
        subcommands: [TestWebhookCommand.self])
}
