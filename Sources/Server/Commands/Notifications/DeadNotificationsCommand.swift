// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Clients
internal import Customers
internal import JSON
internal import Receipts
internal import RedisStore

struct DeadNotificationsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dead",
        abstract: "List the dead letters: notifications that could not be applied.",
        usage: """
            receipt-gateway notifications dead [--app <bundle-id>] ...
              [--limit <count>] [--format <format>] [--config <file>]
            """,
        discussion: """
            Prints the newest first: the time when the notification was given up, the app, the reason, the version of \
            Apple's notifications, the time of its arrival, and its size. What it says is never shown. Version and arrival \
            are missing where this command cannot read what is stored:

              receipt-gateway notifications dead
              receipt-gateway notifications dead --app com.example.shop --format json

            not_genuine: it no longer verifies. unreadable: its stored form was changed. unknown_form: no node had its \
            cache key, or a newer version stored it. Once the cause is removed, a backfill brings the notifications again, \
            as the runbook ReceiptGatewayNotificationDeadLetters shows: for eight days they are also known by their identity.

            Exit status: 0 for success, 1 if Redis does not answer, 64 if the command line is wrong, 78 if the \
            configuration is wrong or has no Redis.
            """)

    enum Limits {
        static let count = 1...1000
    }

    @Option(help: ArgumentHelp("An app; without one, all of the clients file.", valueName: "bundle-id"))
    var app: [String] = []

    @Option(help: ArgumentHelp("The maximum number of dead letters.", valueName: "count"))
    var limit = 100

    @Option(help: "The output format: text, or one JSON object for each line.")
    var format = OutputFormat.text

    @OptionGroup var options: ConfigurationOptions

    func validate() throws {
        guard Limits.count.contains(limit) else {
            throw ValidationError("--limit must be 1 to \(Limits.count.upperBound).")
        }
    }

    func run() async throws {
        let fleet = try options.fleet(storing: "notifications")
        let partitions = try fleet.access.now.partitions(ofApps: app)
        let dead = try await fleet.useOrExit {
            var dead: [DeadNotification] = []
            // One more shows that there are more.
            for partition in partitions {
                dead += try await fleet.store.notifications.dead(in: partition, maximum: limit + 1)
            }
            return dead.sorted { $0.time > $1.time }
        }
        LimitedListing(dead, maximum: limit, none: "There are no dead letters.").write(as: format)
    }
}

extension DeadNotification: ListedEntry {
    static let header = ["GIVEN UP", "APP", "REASON", "VERSION", "ARRIVED", "BYTES"]

    var row: [String] {
        [
            time.description, bundleID, reason, record?.version.name ?? "-", record?.receivedAt.description ?? "-",
            "\(storedBytes)",
        ].map { $0.printable() }
    }

    var operatorJSON: String {
        let json = JSONWriter.object(reservingCapacity: 256) { json in
            json.member("given_up_at", time.description)
            json.member("bundle_id", bundleID)
            json.member("reason", reason)
            json.member("version", record?.version.name)
            json.member("arrived_at", record?.receivedAt.description)
            json.member("stored_bytes", storedBytes)
        }
        return String(decoding: json, as: UTF8.self)
    }
}
