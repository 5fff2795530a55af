// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Clients
internal import Customers
internal import Gateway
internal import Receipts
internal import RedisStore
internal import Telemetry

struct ShowEventCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show one event as clients receive it.",
        usage: """
            receipt-gateway events show <event-id> [--bundle-id <id>] ...
              [--signed-data] [--config <file>]
            """,
        discussion: """
            Reads the log from the newest event back until it finds the ID, at most a million events. Naming the app \
            makes it faster. Standard error shows the progress:

              receipt-gateway events show evt_Zm9vYmFyYmF6cXV4cXV1eGZvb2JhcmJh \\
                --bundle-id com.example.shop

            Exit status: 0 if the event was found, 1 if it was not or Redis does not answer, 64 if the command line is \
            wrong, 78 if the configuration is wrong or has no Redis.
            """)

    @Argument(help: "The event's ID.")
    var eventID: String

    @Option(help: ArgumentHelp("An app; without one, all of the clients file.", valueName: "id"))
    var bundleID: [String] = []

    @Flag(help: "Add what Apple signed, if it is kept (gateway.events.keep_signed_data).")
    var signedData = false

    @OptionGroup var options: ConfigurationOptions

    func validate() throws {
        guard eventID.hasPrefix("evt_") else { throw ValidationError("An event's ID begins with evt_.") }
    }

    func run() async throws {
        let fleet = try options.fleet(storing: "events")
        let partitions = try fleet.access.now.partitions(ofApps: bundleID)
        let search = EventSearch(log: fleet.store.events, partitions: partitions, report: StandardError.write)
        let result = try await fleet.useOrExit { try await search.run(eventID, at: .now()) }
        guard case .found(let event) = result else {
            StandardError.write(result.text)
            throw ExitCode.failure
        }
        print(String(decoding: event.json(includingSignedData: signedData), as: UTF8.self))
    }
}

/// The search for an event by its ID, from the newest event back.
struct EventSearch: Sendable {
    enum Limits {
        /// The span that is read first. Each further step reaches back four times as far.
        static let span: Duration = .seconds(3600)
        static let factor = 4
        static let events = 1_000_000
        /// The shortest time between two lines about the progress.
        static let pause: Duration = .seconds(1)
    }

    enum Result: Hashable, Sendable {
        case found(Event)
        case missing(searched: Int)
        /// The limit was reached; not all events since the time were read.
        case limited(searched: Int, since: Timestamp)

        /// The result, if nothing was found.
        var text: String {
            switch self {
            case .found: ""
            case .missing(let count):
                """
                None of the \(count) events in the log has this ID. It may be older than gateway.events keeps events, or of \
                another app.

                """
            case .limited(let count, let time):
                """
                \(count) events do not have this ID. Not all events since \(time) were read, and none before. Name the app \
                with --bundle-id.

                """
            }
        }
    }

    let log: any EventLog
    let partitions: [AppPartition]
    var maximum = Limits.events
    /// Receives the lines for standard error.
    let report: @Sendable (String) -> Void

    func run(_ id: String, at now: Timestamp) async throws(StoreUnreachable) -> Result {
        var span = Limits.span, end: EventPosition?, progress = Progress()
        while true {
            let start = now.advanced(by: .zero - span)
            let positions = try await log.positions(before: start.milliseconds, in: partitions)
            if let event = try await find(id, after: positions, before: end, &progress) { return .found(event) }
            if progress.searched >= maximum { return .limited(searched: progress.searched, since: start) }
            if positions.allSatisfy({ $0.1 == .start }) { return .missing(searched: progress.searched) }
            end = EventPosition(milliseconds: start.milliseconds, counter: 0, number: 0)
            span *= Limits.factor
        }
    }

    private func find(
        _ id: String, after positions: [(AppPartition, EventPosition)], before end: EventPosition?,
        _ progress: inout Progress
    ) async throws(StoreUnreachable) -> Event? {
        var reader = EventScan(log, from: positions)
        while progress.searched < maximum, let logged = try await reader.next() {
            if let end, logged.position >= end { return nil }
            if logged.event.id == id { return logged.event }
            if let line = progress.count(logged, at: .now) { report(line) }
        }
        return nil
    }

    struct Progress: Sendable {
        private(set) var searched = 0
        private var lastLine = ContinuousClock.now

        /// Counts an event.
        /// - Returns: a line about the progress; nil if the last line is recent.
        mutating func count(_ logged: LoggedEvent, at now: ContinuousClock.Instant) -> String? {
            searched += 1
            guard lastLine.duration(to: now) >= Limits.pause else { return nil }
            lastLine = now
            return "\(searched) events read, now at \(logged.position.time)\n"
        }
    }
}
