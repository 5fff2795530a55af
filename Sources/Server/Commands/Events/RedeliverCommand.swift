// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Clients
internal import Customers
internal import Gateway
internal import RedisStore

struct RedeliverCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "redeliver",
        abstract: "List the dead events of an endpoint, or deliver them once more.",
        usage: """
            receipt-gateway events redeliver --endpoint <name> [<event-id> | --all]
              [--config <file>]
            """,
        discussion: """
            An event whose delivery failed at all attempts is dead. Without an event and without --all, the command \
            lists the newest ones with the reason of the last failure. Otherwise they are tried again at once, and on \
            the usual schedule if that fails:

              receipt-gateway events redeliver --endpoint shop/crm
              receipt-gateway events redeliver --endpoint shop/crm --all

            Later events of the same customers may have arrived meanwhile: the receiver must compare their times.

            Exit status: 0 for success, 1 if the event is not dead or Redis does not answer, 64 if the command line \
            is wrong, 78 if the configuration is wrong or has no Redis.
            """)

    enum Limits {
        /// The dead events that are listed.
        static let listed = 100
    }

    @Option(help: ArgumentHelp("The endpoint: CLIENT/NAME of the clients file.", valueName: "name"))
    var endpoint: String

    @Argument(help: "The ID of a dead event.")
    var eventID: String?

    @Flag(help: "Deliver all dead events of the endpoint.")
    var all = false

    @OptionGroup var options: ConfigurationOptions

    func validate() throws {
        if all, eventID != nil { throw ValidationError("Give an event or --all, not both.") }
    }

    func run() async throws {
        let fleet = try options.eventFleet()
        let endpoint = try fleet.access.now.webhook(named: endpoint)
        let letters = DeadLetters(deliveries: fleet.store.deliveries, queues: endpoint.queues)
        try await fleet.useOrExit {
            guard all || eventID != nil else {
                return print(DeadLetters.text(try await letters.newest(Limits.listed), of: endpoint.name))
            }
            let count = try await letters.redeliver(eventID)
            if let eventID, count == 0 {
                print("\(eventID.printable()) is no dead event of \(endpoint.name).")
                throw ExitCode.failure
            }
            print("\(count) events are delivered to \(endpoint.name) again.")
        }
    }
}

/// The dead events of an endpoint.
struct DeadLetters: Sendable {
    let deliveries: any DeliveryStore
    let queues: [DeliveryQueue]

    /// Returns the newest dead events of all queues, the newest first.
    func newest(_ maximum: Int) async throws(StoreUnreachable) -> [DeadDelivery] {
        var dead: [DeadDelivery] = []
        for queue in queues { dead += try await deliveries.dead(queue, maximum: maximum) }
        return Array(dead.sorted { $0.time > $1.time }.prefix(maximum))
    }

    /// - Parameter eventID: the event; nil for all.
    /// - Returns: the number of events that are tried again.
    func redeliver(_ eventID: String?) async throws(StoreUnreachable) -> Int {
        var count = 0
        for queue in queues { count += try await deliveries.redeliver(queue, eventID: eventID) }
        return count
    }

    static func text(_ dead: [DeadDelivery], of endpoint: String) -> String {
        guard !dead.isEmpty else { return "\(endpoint) has no dead events." }
        let rows = dead.map { ["\($0.time)", $0.eventID, "\($0.attempts)", $0.reason].map { $0.printable() } }
        return TextTable(header: ["GIVEN UP", "EVENT", "ATTEMPTS", "REASON"], rows: rows).text
    }
}
