// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Clients
internal import Customers
internal import Receipts
internal import Telemetry

struct BackfillCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backfill",
        abstract: "Store the notifications of a time that did not arrive.",
        usage: """
            receipt-gateway notifications backfill --since <time>
              [--app <bundle-id>] [--environment <environment>] [--config <file>]
            """,
        discussion: """
            Reads Apple's notification history (Get Notification History) from a time up to now, for each app with a \
            key, in both environments unless told otherwise. Stores each notification that is genuine and new in \
            Redis, except test notifications; the running gateways apply it within seconds. Those that are known have \
            no effect, so a backfill may be repeated, and gateways may run meanwhile. Use it after an outage that \
            lasted longer than Apple's retries, or when an app moves to this gateway:

              receipt-gateway notifications backfill --since 2026-11-20T00:00:00Z
              receipt-gateway notifications backfill --since 2026-05-25T00:00:00Z \\
                --app com.example.app --environment production

            Apple keeps 180 days of notifications of version 2, and 30 days in the sandbox. The command uses the \
            part of the app's budget that gateway.apple.server_api.lookup_share sets, and waits while it is used up.

            Standard error shows the progress, at most a line per second: pages, new, known and rejected \
            notifications, and notifications per second. Standard output shows a summary for each history. A \
            notification that no server acknowledged is read twice, and known the second time.

            Exit status: 0 if all was read, 1 if a history could not be read to its end or Redis did not store a \
            notification, 64 if the command line is wrong, 78 if the configuration is wrong or has no Redis or no key.
            """)

    @Option(
        help: ArgumentHelp("The beginning, in UTC, such as 2026-11-20T00:00:00Z.", valueName: "time"),
        transform: { text in
            if let time = Timestamp(rfc3339: text) { return time }
            throw ValidationError("must be a time in UTC such as 2026-11-20T00:00:00Z")
        })
    var since: Timestamp

    @Option(help: ArgumentHelp("The app; without it, all apps that have a key.", valueName: "bundle-id"))
    var app: String?

    @Option(help: "The environment; without it, both.")
    var environment: EnvironmentArgument?

    @OptionGroup var options: ConfigurationOptions

    func validate() throws {
        guard since < .now() else { throw ValidationError("--since must be a time in the past.") }
    }

    func run() async throws {
        let configuration = try options.load()
        let connections = try options.orExit { () throws(ConfigurationProblems) in
            try NotificationConnections(configuration, requiring: app)
        }
        let isComplete = try await connections.use {
            let backfill = Backfill(
                history: connections.history, intake: connections.intake, clock: { .now() },
                report: StandardError.write)
            return await backfill.run(connections.apps.flatMap(subjects), since: since) { print($0) }
        }
        if !isComplete { throw ExitCode.failure }
    }

    private func subjects(ofApp bundleID: String) -> [Backfill.Subject] {
        (environment.map { [$0] } ?? EnvironmentArgument.allCases).map {
            Backfill.Subject(bundleID: bundleID, environment: $0.environment)
        }
    }
}
