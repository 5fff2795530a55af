// SPDX-License-Identifier: Apache-2.0

package import Resilience
internal import Synchronization

/// The reason why a request is notable. The raw values appear in the metric and the log.
package enum NotableRequest: String, SeriesLabels {
    case serverError = "server_error"
    case clientError = "client_error"
    /// It took at least `RequestSampling.slow`.
    case slow

    package static let labelNames = ["line"]

    init?(status: Int, took: Duration, slow: Duration) {
        switch status {
        case 500...: self = .serverError
        case 400...: self = .clientError
        case _ where took >= slow: self = .slow
        default: return nil
        }
    }
}

/// Chooses the requests that get a log line.
package final class RequestSampler: Sendable {
    package enum Decision: Hashable, Sendable {
        case omit
        /// Write a line; `suppressed` were not written since the last of its kind. Nil for an ordinary request.
        case write(NotableRequest?, suppressed: Int)
    }

    package let rules: RequestSampling
    private let ordinary = Atomic<Int>(0)
    private let notable: Mutex<[NotableRequest: LineBudget]>

    package init(_ rules: RequestSampling = RequestSampling()) {
        self.rules = rules
        let budget = LineBudget(linesPerSecond: rules.notablePerSecond)
        notable = Mutex(Dictionary(uniqueKeysWithValues: NotableRequest.allCases.map { ($0, budget) }))
    }

    package func decide(status: Int, took: Duration, at now: Instant) -> Decision {
        guard let kind = NotableRequest(status: status, took: took, slow: rules.slow) else {
            let number = ordinary.wrappingAdd(1, ordering: .relaxed).oldValue
            return number.isMultiple(of: rules.oneIn) ? .write(nil, suppressed: 0) : .omit
        }
        let suppressed = notable.withLock { $0[kind]?.take(at: now) }
        return suppressed.map { .write(kind, suppressed: $0) } ?? .omit
    }

    func suppressedLines(of kind: NotableRequest) -> Int { notable.withLock { $0[kind]?.suppressed ?? 0 } }

    package var readings: [MetricReading] {
        NotableRequest.allCases.map { kind in
            MetricReading(MetricCatalogue.logLinesSuppressed, kind.labelValues) {
                Double(self.suppressedLines(of: kind))
            }
        }
    }
}

struct LineBudget: Sendable {
    private var bucket: TokenBucket
    private(set) var suppressed = 0
    private var reported = 0

    init(linesPerSecond: Int) {
        bucket = TokenBucket(TokenBucket.Policy(capacity: linesPerSecond, refill: linesPerSecond, per: .seconds(1)))
    }

    /// Returns the number of lines suppressed since the last written line; nil if this line is suppressed too.
    mutating func take(at now: Instant) -> Int? {
        guard case .admitted = bucket.take(at: now) else {
            suppressed += 1
            return nil
        }
        defer { reported = suppressed }
        return suppressed - reported
    }
}
