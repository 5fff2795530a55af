// SPDX-License-Identifier: Apache-2.0

internal import Logging
internal import Receipts
internal import Synchronization

/// The log of what needs an operator: one line an hour for each subject is enough.
final class OperatorLog: Sendable {
    let logger: Logger
    private let clock: @Sendable () -> Timestamp
    private let reported = Mutex(ReportedSubjects())

    init(_ logger: Logger, clock: @escaping @Sendable () -> Timestamp) { (self.logger, self.clock) = (logger, clock) }

    /// Logs a line, unless there was one about the subject in the last hour.
    func log(
        about subject: String, level: Logger.Level = .warning, _ message: Logger.Message,
        metadata: Logger.Metadata = [:]
    ) {
        let now = clock()
        guard reported.withLock({ $0.insert(subject, at: now) }) else { return }
        logger.log(level: level, message, metadata: metadata)
    }
}

/// The subjects of log lines of the last hour: one line for each is enough.
struct ReportedSubjects {
    enum Limits {
        static let interval: Duration = .seconds(3600)
        /// Beyond it, further subjects get no line within the hour.
        static let subjects = 100
    }

    private var reported: [String: Timestamp] = [:]

    /// Returns true for a subject that was not reported in the last hour.
    mutating func insert(_ subject: String, at now: Timestamp) -> Bool {
        reported = reported.filter { now < $0.value.advanced(by: Limits.interval) }
        guard reported[subject] == nil, reported.count < Limits.subjects else { return false }
        reported[subject] = now
        return true
    }
}
