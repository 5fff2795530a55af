// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Clients
internal import Customers
internal import Gateway
internal import Receipts
internal import RedisStore
internal import Telemetry

struct ListEventsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the events of a time.",
        usage: """
            receipt-gateway events list [--since <time>] [--bundle-id <id>] ...
              [--type <type>] ... [--limit <count>] [--format <format>] [--follow]
              [--config <file>]
            """,
        discussion: """
            Prints the events in the order of their writing, the oldest first: the time of writing, the type, the app, \
            the environment, the original transaction and the ID. With --format json each line is the event as \
            clients receive it:

              receipt-gateway events list --since 15m --type 'subscription.*'
              receipt-gateway events list --follow --format json \\
                --bundle-id com.example.shop

            Exit status: 0 for success, 1 if Redis does not answer, 64 if the command line is wrong, 78 if the \
            configuration is wrong or has no Redis.
            """)

    enum Limits {
        static let usual = 1000
        static let count = 1...1_000_000
        /// The time between two reads of --follow.
        static let pause: Duration = .seconds(1)
    }

    @Option(
        help: ArgumentHelp("The beginning: a span before now, or a time in UTC.", valueName: "time"),
        transform: SinceArgument.parse)
    var since = SinceArgument.ago(.seconds(3600))

    @Option(help: ArgumentHelp("An app; without one, all of the clients file.", valueName: "id"))
    var bundleID: [String] = []

    @Option(
        help: ArgumentHelp("A type, or a prefix such as subscription.*; without one, all.", valueName: "type"),
        transform: EventTypeArgument.parse)
    var type: [Set<EventType>] = []

    @Option(help: ArgumentHelp("The maximum number of events. (default: 1000; none with --follow)", valueName: "count"))
    var limit: Int?

    @Option(help: "The output format: text, or one JSON object for each line.")
    var format = OutputFormat.text

    @Flag(help: "Wait for new events, and print them.")
    var follow = false

    @OptionGroup var options: ConfigurationOptions

    func validate() throws {
        guard Limits.count.contains(limit ?? 1) else {
            throw ValidationError("--limit must be 1 to \(Limits.count.upperBound).")
        }
    }

    func run() async throws {
        let fleet = try options.fleet(storing: "events")
        let partitions = try fleet.access.now.partitions(ofApps: bundleID)
        let start = since.time(before: .now())
        try await fleet.useOrExit {
            let reader = try await EventScan(fleet.store.events, partitions, since: start.milliseconds)
            var listing = EventListing(
                reader, types: type.isEmpty ? nil : type.reduce(into: []) { $0.formUnion($1) },
                maximum: limit ?? (follow ? .max : Limits.usual))
            while true {
                try await listing.run {
                    print(format == .json ? String(decoding: $0.event.json, as: UTF8.self) : $0.line)
                    // To a pipe the C library writes full buffers only, and a signal drops what is left.
                    if follow { CLibrary.flushStandardOutput() }
                }
                guard follow, !listing.isFull else { break }
                try await Task.sleep(for: Limits.pause)
            }
            StandardError.write(listing.remark)
        }
    }
}

/// The events of a reader that have certain types, up to a maximum number.
struct EventListing {
    private var reader: EventScan
    private let types: Set<EventType>?
    private let maximum: Int
    private var count = 0
    private var last: EventPosition?
    /// True if there are more events than the maximum.
    private(set) var isFull = false

    init(_ reader: EventScan, types: Set<EventType>?, maximum: Int) {
        (self.reader, self.types, self.maximum) = (reader, types, maximum)
    }

    /// Passes on the events up to the end of the logs, or to the maximum.
    mutating func run(_ show: (LoggedEvent) -> Void) async throws {
        reader.resume()
        while let logged = try await reader.next() {
            guard types?.contains(logged.event.type) ?? true else { continue }
            isFull = count == maximum
            if isFull { return }
            count += 1
            last = logged.position
            show(logged)
        }
    }

    /// The remark for standard error at the end; empty if all events were shown.
    var remark: String {
        var text = count == 0 ? "There are no such events.\n" : ""
        if isFull, let last {
            text += "There are more events. Raise --limit, or continue with --since \(last.time).\n"
        }
        if reader.unreadable > 0 {
            text += "\(reader.unreadable) entries cannot be decrypted: GATEWAY_CACHE_KEYS lacks their key.\n"
        }
        return text
    }
}

extension LoggedEvent {
    var line: String {
        [
            position.time.description, event.type.rawValue, event.bundleID,
            UpstreamEnvironment(event.environment).rawValue,
            event.originalTransactionID ?? "-", event.id,
        ].map { $0.printable() }.joined(separator: "  ")
    }
}
