// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Customers
internal import JSON
internal import Receipts
internal import RedisStore
internal import Telemetry

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
        let fleet = try options.verificationFleet()
        let found = try await fleet.useOrExit { try await fleet.store.jobs.job(id) }
        guard let found else {
            StandardError.write(
                "There is no verification of this ID. It may be older than gateway.jobs.retention.\n")
            throw ExitCode.failure
        }
        print(found.operatorJSON)
    }
}

extension VerificationJob {
    /// The JSON object for operators: without evidence, with the client.
    var operatorJSON: String {
        var json = JSONWriter(reservingCapacity: 512 + result.json.count)
        json.object { json in
            json.member("id", id)
            json.member("client", client)
            json.member("status", status.rawValue)
            json.member("environment", lane.rawValue)
            json.member("created_at", createdAt.description)
            json.member("deadline", deadline.description)
            json.member("attempts", attempts)
            json.member("next_attempt_at", nextAttempt.map { .string(OutsideText($0.description)) } ?? .null)
            json.key("answer")
            json.value(result.json)
        }
        return String(decoding: json.bytes, as: UTF8.self)
    }
}
