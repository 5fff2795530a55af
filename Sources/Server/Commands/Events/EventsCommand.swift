// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Clients
internal import Customers
internal import Receipts

struct EventsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "events",
        abstract: "Read the event log, and operate the delivery of webhooks.",
        discussion: """
            The commands read and change what the gateways share in Redis. They need the same Redis, the same \
            GATEWAY_CACHE_KEYS and the same clients file; gateways may run meanwhile.

            Exit status: 0 for success; see the help of each command.
            """,
        subcommands: [
            ListEventsCommand.self, ShowEventCommand.self, EndpointsCommand.self, ReplayCommand.self,
            RedeliverCommand.self,
        ])
}

extension Access {
    /// Returns the partitions of these apps, or of all served apps, in alphabetical order.
    func partitions(ofApps bundleIDs: [String]) throws -> [AppPartition] {
        let served = servedApps ?? []
        for bundleID in bundleIDs where !served.contains(bundleID) {
            throw ValidationError("The clients file does not name the app \(bundleID.printable()).")
        }
        return (bundleIDs.isEmpty ? served : Set(bundleIDs)).sorted().flatMap(AppPartition.all)
    }

    func webhook(named name: String) throws -> WebhookEndpoint {
        if let endpoint = rules.webhooks.first(where: { $0.name == name }) { return endpoint }
        let names = rules.webhooks.map(\.name).sorted()
        let known = names.isEmpty ? "It has no webhooks." : "It has \(names.listed)."
        throw ValidationError("The clients file has no webhook \(name.printable()). \(known)")
    }
}

// MARK: - Arguments

/// A time in the past as an argument: a span before now, or a time.
enum SinceArgument: Hashable, Sendable {
    case ago(Duration)
    case at(Timestamp)

    static let usage = "must be a span before now such as 30m, 1h or 7d, or a time such as 2026-11-20T00:00:00Z"

    @Sendable static func parse(_ text: String) throws -> SinceArgument {
        if let time = Timestamp(rfc3339: text) { return .at(time) }
        guard let span = try? Duration(configuration: text) else { throw ValidationError(usage) }
        return .ago(span)
    }

    func time(before now: Timestamp) -> Timestamp {
        switch self {
        case .ago(let span): now.advanced(by: .zero - span)
        case .at(let time): time
        }
    }
}

/// Types of events as arguments: `subscription.renewed`, or `subscription.*`.
enum EventTypeArgument {
    @Sendable static func parse(_ text: String) throws -> Set<EventType> {
        let types = EventType.matching(text)
        guard !types.isEmpty else { throw ValidationError("must be a type of events such as subscription.renewed") }
        return types
    }
}

enum OutputFormat: String, CaseIterable, ExpressibleByArgument {
    case text, json
}

/// A table for a terminal: columns as wide as their longest cell.
struct TextTable: Sendable {
    let header: [String]
    let rows: [[String]]

    var text: String {
        let lines = [header] + rows
        let widths = header.indices.map { column in lines.map { $0[column].count }.max() ?? 0 }
        return lines.map { line in
            let cells = zip(line, widths).map { $0 + String(repeating: " ", count: $1 - $0.count) }
            return String(cells.joined(separator: "  ").reversed().drop { $0 == " " }.reversed())
        }.joined(separator: "\n")
    }
}

extension Timestamp {
    /// The time in the form of positions.
    var milliseconds: UInt64 { UInt64(clamping: millisecondsSince1970) }
}
