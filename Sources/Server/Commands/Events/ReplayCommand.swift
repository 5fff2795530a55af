// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Clients
internal import Customers
internal import Gateway
internal import Receipts
internal import RedisStore
internal import Telemetry

struct ReplayCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "replay",
        abstract: "Deliver the events of a time to an endpoint again.",
        usage: """
            receipt-gateway events replay --endpoint <name>
              (--since <time> | --from-start) [--bundle-id <id>] ... [--yes]
              [--config <file>]
            """,
        discussion: """
            Sets the endpoint back to a time: it gets the events since then once more, in order, and then those that \
            are new. An endpoint that answered 410 is enabled. The IDs of events are the same as before, so a \
            receiver that stores them ignores those that it has. For a receiver that lost its data, or is new:

              receipt-gateway events replay --endpoint shop/crm --since 2d
              receipt-gateway events replay --endpoint shop/crm --from-start --yes

            The command shows the number of events, and changes nothing before it is confirmed. Without a terminal it \
            needs --yes. It never skips events: a part that is behind the time already stays where it is.

            Exit status: 0 if the endpoint was set back or had nothing to repeat, 1 if it was not confirmed or Redis \
            does not answer, 64 if the command line is wrong, 78 if the configuration is wrong or has no Redis.
            """)

    @Option(help: ArgumentHelp("The endpoint: CLIENT/NAME of the clients file.", valueName: "name"))
    var endpoint: String

    @Option(
        help: ArgumentHelp("The beginning: a span before now, or a time in UTC.", valueName: "time"),
        transform: SinceArgument.parse)
    var since: SinceArgument?

    @Flag(help: "Begin with the oldest event of the log.")
    var fromStart = false

    @Option(help: ArgumentHelp("An app; without one, all of the endpoint.", valueName: "id"))
    var bundleID: [String] = []

    @Flag(help: "Do not ask for confirmation.")
    var yes = false

    @OptionGroup var options: ConfigurationOptions

    func validate() throws {
        guard (since == nil) == fromStart else { throw ValidationError("Give either --since or --from-start.") }
    }

    func run() async throws {
        let fleet = try options.fleet(storing: "events")
        let endpoint = try fleet.access.now.webhook(named: endpoint)
        let queues = endpoint.queues.filter { bundleID.isEmpty || bundleID.contains($0.partition.bundleID) }
        guard !queues.isEmpty else { throw ValidationError("\(endpoint.name) has none of these apps.") }
        let replay = Replay(log: fleet.store.events, deliveries: fleet.store.deliveries)
        try await fleet.useOrExit {
            let plan = try await replay.plan(queues, since: since?.time(before: .now()))
            StandardError.write(plan.text(for: endpoint))
            guard !plan.isEmpty else { return }
            guard yes || isConfirmed() else {
                StandardError.write("Nothing was changed. To confirm without a terminal, add --yes.\n")
                throw ExitCode.failure
            }
            try await replay.carryOut(plan)
            print("\(endpoint.name) gets these events again.")
        }
    }

    /// Asks the operator on the terminal. Without a terminal there is no confirmation.
    private func isConfirmed() -> Bool {
        guard CLibrary.isStandardInputTerminal else { return false }
        StandardError.write("Continue? [y/N] ")
        return ["y", "yes"].contains(readLine()?.lowercased())
    }
}

struct Replay: Sendable {
    struct Step: Hashable, Sendable {
        let queue: DeliveryQueue
        let target: EventPosition
        /// The number of events in the log between the target and the present position; nil if unknown.
        let count: UInt64?
    }

    struct Plan: Hashable, Sendable {
        let steps: [Step]
        /// The time of writing of the oldest event that goes again.
        let oldest: Timestamp?

        var isEmpty: Bool { steps.isEmpty }

        func text(for endpoint: WebhookEndpoint) -> String {
            guard let oldest else {
                return "\(endpoint.name) has had no event of this time: there is nothing to repeat.\n"
            }
            let counts = steps.map(\.count), known = counts.compactMap(\.self).reduce(0, +)
            let number = counts.contains(nil) ? "At least \(known)" : "\(known)"
            let selection = endpoint.types == nil ? "" : ", as far as its types include them"
            return """
                \(number) events since \(oldest) go to \(endpoint.name) again\(selection). They have the IDs that they \
                had before: the receiver must ignore those that it knows.

                """
        }
    }

    let log: any EventLog
    let deliveries: any DeliveryStore

    /// - Parameter time: the beginning; nil for the oldest event.
    func plan(_ queues: [DeliveryQueue], since time: Timestamp?) async throws(StoreUnreachable) -> Plan {
        var steps: [Step] = [], oldest: Timestamp?
        for (queue, survey) in zip(queues, try await deliveries.survey(queues)) {
            guard let current = try await position(survey, of: queue) else { continue }
            let target = try await target(time, in: queue)
            guard let first = try await firstEvent(after: target, in: queue), first <= current else { continue }
            let isCounted = first.number > 0 && current.number >= first.number
            steps.append(
                Step(queue: queue, target: target, count: isCounted ? current.number - first.number + 1 : nil))
            oldest = min(oldest ?? first.time, first.time)
        }
        return Plan(steps: steps, oldest: oldest)
    }

    /// Returns the position of a queue. Without a position, returns the position of the newest event, where a new
    /// endpoint begins.
    private func position(
        _ survey: DeliverySurvey, of queue: DeliveryQueue
    ) async throws(StoreUnreachable) -> EventPosition? {
        if let position = survey.position { return position }
        guard let newest = await log.newest([queue.partition], queue.stream)?.first else { throw StoreUnreachable() }
        return newest == .start ? nil : newest
    }

    private func target(_ time: Timestamp?, in queue: DeliveryQueue) async throws(StoreUnreachable) -> EventPosition {
        guard let time else { return .start }
        return try await log.position(before: time.milliseconds, in: queue.partition, queue.stream)
    }

    private func firstEvent(
        after position: EventPosition, in queue: DeliveryQueue
    ) async throws(StoreUnreachable) -> EventPosition? {
        let query = EventQuery(queue.partition, queue.stream, after: position, maximum: 1)
        guard let batch = await log.read([query])?.first else { throw StoreUnreachable() }
        return batch.events.first?.position ?? (batch.last > position ? batch.last : nil)
    }

    func carryOut(_ plan: Plan) async throws(StoreUnreachable) {
        for step in plan.steps { try await deliveries.rewind(step.queue, to: step.target) }
    }
}

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
        let fleet = try options.fleet(storing: "events")
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
