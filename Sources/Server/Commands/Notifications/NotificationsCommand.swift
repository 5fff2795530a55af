// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Receipts

struct NotificationsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "notifications",
        abstract: "Read missed notifications from Apple's history, or test their delivery.",
        discussion: """
            Running gateways recover missed notifications by themselves. These commands are for longer spans, and for \
            the setup of the notification URL in App Store Connect.

            Exit status: 0 for success; see the help of each command.
            """,
        subcommands: [BackfillCommand.self, TestNotificationCommand.self])
}

/// The environments that Apple sends notifications from, as arguments.
enum EnvironmentArgument: String, CaseIterable, ExpressibleByArgument {
    case production
    case sandbox

    var environment: Environment { self == .production ? .production : .sandbox }
}

extension Environment {
    /// The environment as an argument, and in messages.
    var argument: String { self == .production ? "production" : "sandbox" }
}
