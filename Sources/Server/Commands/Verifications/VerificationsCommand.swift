// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Clients
internal import Customers

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

extension ConfigurationOptions {
    /// Returns the connection of a command about deferred verifications. If the configuration is wrong, prints its
    /// problems and exits.
    func verificationFleet() throws -> FleetConnection {
        let configuration = try load()
        return try orExit { () throws(ConfigurationProblems) in
            try FleetConnection(
                configuration,
                needingRedisBecause: "deferred verifications are stored in Redis, by the gateways that run")
        }
    }
}

extension JobStatus: ExpressibleByArgument {}
