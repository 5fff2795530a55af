// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Clients
internal import Customers
internal import Gateway
internal import Receipts
internal import Telemetry

struct BackfillCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backfill",
        abstract: "Store the notifications of a time that did not arrive.",
        usage: """
            receipt-gateway notifications backfill --since <time>
              [--app <bundle-id>] [--environment <environment>] [--config <file>]
            """,
        discussion: """
            Reads Apple's notification history (Get Notification History) from a time up to now, for each app with a \
            key, in both environments unless told otherwise. Stores each notification that is genuine and new in \
            Redis, except test notifications; the running gateways apply it within seconds. Those that are known have \
            no effect, so a backfill may be repeated, and gateways may run meanwhile. Use it after an outage that \
            lasted longer than Apple's retries, or when an app moves to this gateway:

              receipt-gateway notifications backfill --since 2026-11-20T00:00:00Z
              receipt-gateway notifications backfill --since 2026-05-25T00:00:00Z \\
                --app com.example.app --environment production

            Apple keeps 180 days of notifications of version 2, and 30 days in the sandbox. The command uses the \
            part of the app's budget that gateway.apple.server_api.lookup_share sets, and waits while it is used up.

            A notification announces the change that it names, however old it is: webhooks receive the events of the \
            whole time, with the time of the change in `occurred_at`.

            If Apple or Redis does not answer, a page is tried again after 1 to 30 seconds. After \
            \(BackfillDelays.Limits.attempts) attempts in a row without a page, in about five minutes, the command gives \
            up: it tries each history that is left once, prints the command that continues, and ends with status 1.

            Standard error shows the progress, at most a line per second: pages, new, known and rejected \
            notifications, and notifications per second. Standard output shows a summary for each history. A \
            notification that no server acknowledged is read twice, and known the second time.

            Exit status: 0 if all was read, 1 if a history could not be read to its end, because Apple did not answer \
            or refused, or Redis did not store a notification, 64 if the command line is wrong, 78 if the configuration is wrong or has no Redis or no key.
            """)

    @Option(
        help: ArgumentHelp("The beginning, in UTC, such as 2026-11-20T00:00:00Z.", valueName: "time"),
        transform: { text in
            if let time = Timestamp(rfc3339: text) { return time }
            throw ValidationError("must be a time in UTC such as 2026-11-20T00:00:00Z")
        })
    var since: Timestamp

    @Option(help: ArgumentHelp("The app; without it, all apps that have a key.", valueName: "bundle-id"))
    var app: String?

    @Option(help: "The environment; without it, both.")
    var environment: UpstreamEnvironment?

    @OptionGroup var options: ConfigurationOptions

    func validate() throws {
        guard since < .now() else { throw ValidationError("--since must be a time in the past.") }
    }

    func run() async throws {
        let configuration = try options.load()
        let connections = try orExit { () throws(ConfigurationProblems) in
            try NotificationConnections(configuration, requiring: app)
        }
        let isComplete = try await connections.use {
            let backfill = Backfill(
                history: connections.history, intake: connections.intake, clock: { .now() },
                report: StandardError.write)
            return await backfill.run(connections.apps.flatMap(subjects), since: since) { print($0) }
        }
        if !isComplete { throw ExitCode.failure }
    }

    private func subjects(ofApp bundleID: String) -> [Backfill.Subject] {
        (environment.map { [$0] } ?? UpstreamEnvironment.allCases).map {
            Backfill.Subject(bundleID: bundleID, environment: Environment($0))
        }
    }
}

/// Reads Apple's notification histories into the store, and reports the progress.
struct Backfill: Sendable {
    struct Subject: Hashable, Sendable {
        let bundleID: String
        let environment: Environment

        var name: String { "\(bundleID) \(UpstreamEnvironment(environment).rawValue)" }
    }

    let history: any NotificationHistory
    let intake: NotificationIntake
    let clock: @Sendable () -> Timestamp
    var sleep: @Sendable (Duration) async -> Void = { try? await Task.sleep(for: $0) }
    /// Receives the lines for standard error.
    let report: @Sendable (String) -> Void

    /// Reads histories up to now, in order.
    /// - Parameter summarize: receives a line for each history.
    /// - Returns: false if a history could not be read.
    func run(_ subjects: [Subject], since start: Timestamp, summarize: (String) -> Void) async -> Bool {
        let end = clock()
        var isComplete = true, unknown: Set<String> = [], known: Set<String> = [], delays = BackfillDelays()
        for subject in subjects {
            var progress = BackfillProgress(subject, since: start, at: .now)
            do throws(HistoryReading.Fault) {
                try await read(subject, from: start, to: end, &progress, &delays)
                known.insert(subject.bundleID)
                summarize(progress.summary)
            } catch {
                guard progress.hasBegun || !error.isRejectedKey else {
                    unknown.insert(subject.bundleID)
                    report(
                        "\(subject.name): Apple does not know the app in this environment, or rejects its key (401)\n")
                    continue
                }
                isComplete = false
                known.insert(subject.bundleID)
                summarize(progress.summary)
                report("\(subject.name): stopped after \(progress.reached). \(error.advice)\n")
                if error.mayPass { report(BackfillDelays.ended) }
                if error.mayPass || error.isRejectedKey { report(subject.continuation(from: progress.reached)) }
            }
        }
        for bundleID in unknown.subtracting(known).sorted() {
            isComplete = false
            report("\(bundleID): nothing was read. \(HistoryReading.Fault.history(.serverAPIKeyRejected).advice)\n")
        }
        return isComplete
    }

    private func read(
        _ subject: Subject, from start: Timestamp, to end: Timestamp, _ progress: inout BackfillProgress,
        _ delays: inout BackfillDelays
    ) async throws(HistoryReading.Fault) {
        var start = start
        while let span = RecoverySpan(from: start, to: end, in: subject.environment, at: clock()) {
            if span.start > start { report("\(subject.name): Apple's history begins at \(span.start)\n") }
            let query = NotificationHistoryQuery(
                bundleID: subject.bundleID, environment: subject.environment, start: span.start, end: span.end)
            var reading = HistoryReading(query)
            while !reading.isComplete {
                try await readPage(of: &reading, &delays)
                progress.record(reading.counts)
                if let line = progress.line(at: .now) { report(line) }
            }
            progress.finish(span)
            start = span.end
        }
    }

    /// Reads a page, after waiting for faults that may pass.
    private func readPage(
        of reading: inout HistoryReading, _ delays: inout BackfillDelays
    ) async throws(HistoryReading.Fault) {
        while true {
            do throws(HistoryReading.Fault) {
                try await reading.readPage(of: history, into: intake, clock: clock)
                delays = BackfillDelays()
                return
            } catch {
                guard error.mayPass, let delay = delays.next() else { throw error }
                report(
                    "attempt \(delays.attempts) of \(BackfillDelays.Limits.attempts) failed, next in "
                        + "\(delay.components.seconds) s: \(error.advice)\n")
                await sleep(delay)
            }
        }
    }
}

extension Backfill.Subject {
    /// The command that reads what is left.
    fileprivate func continuation(from time: Timestamp) -> String {
        "To continue later:\nreceipt-gateway notifications backfill --since \(time) --app \(bundleID.quotedForShell) "
            + "--environment \(UpstreamEnvironment(environment).rawValue)\n"
    }
}

/// The delays before a page is read again. They belong to the whole command: a fault of Apple's or of Redis's is not
/// waited for once more in each history.
struct BackfillDelays: Sendable {
    enum Limits {
        static let longest: Duration = .seconds(30)
        /// The number of attempts in a row, without a page, after which a fault no longer counts as temporary.
        static let attempts = 15
    }

    fileprivate static let ended = "Apple or Redis did not answer \(Limits.attempts) times in a row. "

    /// The number of failed attempts since the last page that was read.
    private(set) var attempts = 0
    private var delay: Duration = .seconds(1)

    /// Counts a failed attempt, and returns the delay before the next; nil after the last attempt.
    mutating func next() -> Duration? {
        attempts += 1
        guard attempts < Limits.attempts else { return nil }
        defer { delay = min(delay * 2, Limits.longest) }
        return delay
    }
}

struct BackfillProgress: Sendable {
    enum Limits {
        /// The shortest time between two lines.
        static let pause: Duration = .seconds(1)
    }

    private let subject: Backfill.Subject
    private let start: ContinuousClock.Instant
    private var lastLine: ContinuousClock.Instant
    private var finished = HistoryReading.Counts()
    private var current = HistoryReading.Counts()
    /// The time up to which all is read.
    private(set) var reached: Timestamp

    init(_ subject: Backfill.Subject, since time: Timestamp, at now: ContinuousClock.Instant) {
        self.subject = subject
        (start, lastLine, reached) = (now, now, time)
    }

    mutating func record(_ counts: HistoryReading.Counts) { current = counts }

    mutating func finish(_ span: RecoverySpan) {
        finished = total
        current = HistoryReading.Counts()
        reached = span.end
    }

    /// True once a page is read.
    var hasBegun: Bool { total.pages > 0 }

    private var total: HistoryReading.Counts { finished + current }

    /// Returns a line about the progress; nil if the last line is recent.
    mutating func line(at now: ContinuousClock.Instant) -> String? {
        guard lastLine.duration(to: now) >= Limits.pause else { return nil }
        lastLine = now
        let rate = Double(total.notifications) / (start.duration(to: now) / .seconds(1))
        return "\(subject.name): read up to \(reached), \(total.text), \(Int(rate)) per second\n"
    }

    var summary: String { "\(subject.name): \(total.text)" }
}

extension HistoryReading.Counts {
    fileprivate var text: String { "\(pages) pages, \(stored) new, \(known) known, \(rejected) rejected" }
}

extension HistoryReading.Fault {
    /// True if Apple rejects the app's key, or does not know the app.
    fileprivate var isRejectedKey: Bool {
        if case .history(.serverAPIKeyRejected) = self { true } else { false }
    }

    /// True if the same page may be read and stored later.
    fileprivate var mayPass: Bool {
        switch self {
        case .history(let reason):
            ![
                .serverAPIKeyRejected, .upstreamRequestRefused, .upstreamUnusableAnswer, .upstreamAnswerTooLarge,
                .upstreamContradiction,
                .upstreamTLS, .stopping,
            ].contains(reason)
        case .store(.unreachable), .store(.full), .store(.backlog), .store(.replicas): true
        case .store(.evicts), .store(.volatile), .configuration: false
        }
    }

    var advice: String {
        switch self {
        case .history(.serverAPIKeyRejected):
            "Check the app's key of the App Store Server API with `receipt-gateway doctor`."
        case .history(.upstreamBudget):
            "The app's budget of calls is used up (gateway.apple.server_api.budget_share and lookup_share)."
        case .history(.upstreamPaused), .history(.circuitOpen), .history(.upstreamSaturated):
            "Calls to Apple are suspended for the moment, here or in the fleet."
        case .history(let reason):
            "Apple's history cannot be read (\(reason.rawValue)). `receipt-gateway doctor` checks the connection."
        case .store(.unreachable): "Redis does not answer. `receipt-gateway doctor` checks the connection."
        case .store(.full): "The memory of Redis is full. Raise maxmemory."
        case .store(.backlog):
            "The backlog has its maximum size (gateway.notifications.backlog). Check that gateways run and apply it."
        case .store(.evicts): "Redis may evict notifications. \(NotificationStoreFault.evictionAdvice)"
        case .store(.replicas): "Too few replicas of Redis confirmed a write (gateway.notifications.replicas)."
        case .configuration:
            "A genuine notification has another Apple ID of the app than `app_apple_id` in the clients file. Correct it."
        case .store(.volatile): "Without Redis, notifications would end with this command. Set gateway.redis.url."
        }
    }
}
