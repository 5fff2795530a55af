// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Clients
internal import Customers
internal import Receipts
internal import RedisStore
internal import Telemetry

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
        let fleet = try options.verificationFleet()
        let found = try await fleet.useOrExit {
            // One more verification shows that there are more.
            try await fleet.store.jobs.list(status, maximum: limit + 1)
        }
        let listing = VerificationListing(found, status, maximum: limit)
        print(format == .json ? listing.json : listing.text, terminator: "")
        StandardError.write(listing.remark)
    }
}

/// The deferred verifications of a status, up to a maximum number.
struct VerificationListing {
    private let jobs: ArraySlice<VerificationJob>
    private let status: JobStatus
    private let hasMore: Bool

    init(_ found: [VerificationJob], _ status: JobStatus, maximum: Int) {
        jobs = found.prefix(maximum)
        self.status = status
        hasMore = found.count > maximum
    }

    /// The verifications in columns; empty without verifications.
    var text: String {
        guard !jobs.isEmpty else { return "" }
        let header = ["CREATED", "CLIENT", "ATTEMPTS", "NEXT", "ANSWER", "ID"]
        return TextTable(header: header, rows: jobs.map(\.row)).text + "\n"
    }

    var json: String { jobs.map { $0.operatorJSON + "\n" }.joined() }

    /// The remark for standard error; empty if all verifications were shown.
    var remark: String {
        if jobs.isEmpty { return "There are no deferred verifications with the status \(status.rawValue).\n" }
        return hasMore ? "There are more. Raise --limit.\n" : ""
    }
}

extension VerificationJob {
    fileprivate var row: [String] {
        [
            createdAt.description, client, "\(attempts)", nextAttempt?.description ?? "-",
            [result.verdict, result.reason].compactMap(\.self).joined(separator: " "), id,
        ].map { $0.printable() }
    }
}
