// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import PrometheusExport
package import Resilience
package import Settings
internal import Synchronization

/// What makes a request worth a line. The raw values are those of the metric and the log.
package enum NotableRequest: String, SeriesLabels {
    /// It was answered 5xx.
    case serverError = "server_error"
    /// It was answered 4xx.
    case clientError = "client_error"
    /// It took long.
    case slow

    package static let labelNames = ["line"]

    /// Nil for a request that is nothing special.
    init?(status: Int, took: Duration, slow: Duration) {
        switch status {
        case 500...: self = .serverError
        case 400...: self = .clientError
        case _ where took >= slow: self = .slow
        default: return nil
        }
    }
}

/// Chooses the requests that get a line.
package final class RequestSampler: Sendable {
    /// What becomes of a line.
    package enum Decision: Hashable, Sendable {
        case omit
        /// It is written; so many of its kind were not since the last one.
        case write(Occasion, suppressed: Int)
    }

    /// Why a line is written.
    package enum Occasion: Hashable, Sendable, CustomStringConvertible {
        case notable(NotableRequest)
        case sampled

        package var description: String {
            switch self {
            case .notable(let kind): kind.rawValue
            case .sampled: "sampled"
            }
        }
    }

    /// By which the requests are chosen.
    package let rules: RequestSampling
    private let ordinary = Atomic<Int>(0)
    private let notable: Mutex<[NotableRequest: LineBudget]>

    package init(_ rules: RequestSampling = RequestSampling()) {
        self.rules = rules
        let budget = LineBudget(linesPerSecond: rules.notablePerSecond)
        notable = Mutex(Dictionary(uniqueKeysWithValues: NotableRequest.allCases.map { ($0, budget) }))
    }

    /// Whether a request gets a line.
    package func decide(status: Int, took: Duration, at now: Instant) -> Decision {
        guard let kind = NotableRequest(status: status, took: took, slow: rules.slow) else {
            let number = ordinary.wrappingAdd(1, ordering: .relaxed).oldValue
            return number.isMultiple(of: rules.oneIn) ? .write(.sampled, suppressed: 0) : .omit
        }
        let suppressed = notable.withLock { $0[kind]?.take(at: now) }
        return suppressed.map { .write(.notable(kind), suppressed: $0) } ?? .omit
    }

    /// How many lines of this kind were too many since the start.
    func suppressedLines(of kind: NotableRequest) -> Int {
        notable.withLock { $0[kind]?.suppressed ?? 0 }
    }
}

/// How many lines of one kind may be written.
struct LineBudget: Sendable {
    private var bucket: TokenBucket
    /// Lines that were too many since the start.
    private(set) var suppressed = 0
    /// How many of them were reported.
    private var reported = 0

    init(linesPerSecond: Int) {
        bucket = TokenBucket(
            TokenBucket.Policy(capacity: linesPerSecond, refill: linesPerSecond, per: .seconds(1)))
    }

    /// Takes the place of a line: how many had none since the last one; nil if this one has none either.
    mutating func take(at now: Instant) -> Int? {
        guard case .admitted = bucket.take(at: now) else {
            suppressed += 1
            return nil
        }
        defer { reported = suppressed }
        return suppressed - reported
    }
}

extension RequestSampler {
    /// What is read at each scrape.
    package var readings: [MetricReading] {
        NotableRequest.allCases.map { kind in
            MetricReading(MetricCatalogue.logLinesSuppressed, kind.labelValues) {
                Double(self.suppressedLines(of: kind))
            }
        }
    }
}
