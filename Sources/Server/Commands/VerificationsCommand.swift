// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Clients
internal import Customers
internal import Gateway
internal import JSON
internal import Receipts
internal import RedisStore
internal import Telemetry

struct VerificationsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verifications",
        abstract: "Show deferred verifications.",
        discussion: """
            The commands read what the gateways share in Redis. They need the same Redis and the \
            same GATEWAY_CACHE_KEYS; gateways may run meanwhile.

            A verification that failed cannot be repeated: its evidence was deleted. Its client must send the purchase \
            again.

            Exit status: 0 for success; see the help of each command.
            """,
        subcommands: [ListVerificationsCommand.self, ShowVerificationCommand.self])
}

extension JobStatus: ExpressibleByArgument {}

struct ListVerificationsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the deferred verifications of a status.",
        usage: """
            receipt-gateway verifications list [--status <status>] [--limit <count>]
              [--format <format>] [--config <file>]
            """,
        discussion: """
            Prints the newest first: the time of creation, the client, the number of attempts, the time of the next one, \
            the verdict so far with its reason, and the ID. With --format json each line is a JSON object with the \
            answer:

              receipt-gateway verifications list
              receipt-gateway verifications list --status failed --format json

            waiting: Apple has not answered yet. done: there is a verdict. expired: the time was over first. failed: it \
            was given up, because it ended the process of its worker three times.

            Exit status: 0 for success, 1 if Redis does not answer, 64 if the command line is wrong, 78 if the \
            configuration is wrong or has no Redis.
            """)

    enum Limits {
        static let count = 1...1000
    }

    @Option(help: "The status of the verifications.")
    var status = JobStatus.waiting

    @Option(help: ArgumentHelp("The maximum number of verifications.", valueName: "count"))
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
        let fleet = try options.fleet(storing: "deferred verifications")
        let found = try await fleet.useOrExit {
            // One more verification shows that there are more.
            try await fleet.store.jobs.list(status, maximum: limit + 1)
        }
        LimitedListing(found, maximum: limit, none: Self.none(of: status)).write(as: format)
    }

    static func none(of status: JobStatus) -> String {
        "There are no deferred verifications with the status \(status.rawValue)."
    }
}

struct ShowVerificationCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show one deferred verification with its answer.",
        usage: "receipt-gateway verifications show <id> [--config <file>]",
        discussion: """
            Prints a JSON object: the client, the status, the times, the attempts, and the answer so far or at the end. \
            Evidence is never shown:

              receipt-gateway verifications show ver_Zm9vYmFyYmF6cXV4cXV1eA

            Exit status: 0 if the verification was found, 1 if it was not or Redis does not answer, 64 if the command \
            line is wrong, 78 if the configuration is wrong or has no Redis.
            """)

    @Argument(help: "The verification's ID.")
    var id: String

    @OptionGroup var options: ConfigurationOptions

    func validate() throws {
        guard id.hasPrefix("ver_") else { throw ValidationError("A verification's ID begins with ver_.") }
    }

    func run() async throws {
        let fleet = try options.fleet(storing: "deferred verifications")
        let found = try await fleet.useOrExit { try await fleet.store.jobs.job(id) }
        guard let found else {
            StandardError.write(
                "There is no verification of this ID. It may be older than gateway.jobs.retention.\n")
            throw ExitCode.failure
        }
        print(found.operatorJSON)
    }
}

extension VerificationJob: ListedEntry {
    static let header = ["CREATED", "CLIENT", "ATTEMPTS", "NEXT", "ANSWER", "ID"]

    var row: [String] {
        [
            createdAt.description, client, "\(attempts)", nextAttempt?.description ?? "-",
            [result.verdict, result.reason].compactMap(\.self).joined(separator: " "), id,
        ].map { $0.printable() }
    }

    /// The JSON object for operators: without evidence, with the client.
    var operatorJSON: String {
        let json = JSONWriter.object(reservingCapacity: 512 + result.json.count) { json in
            json.member("id", id)
            json.member("client", client)
            json.member("status", status.rawValue)
            json.member("environment", lane.rawValue)
            json.member("created_at", createdAt.description)
            json.member("deadline", deadline.description)
            json.member("attempts", attempts)
            json.member("next_attempt_at", orNull: nextAttempt?.description)
            json.member("answer", object: result.json)
        }
        return String(decoding: json, as: UTF8.self)
    }
}
