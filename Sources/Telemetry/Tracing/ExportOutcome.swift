// SPDX-License-Identifier: Apache-2.0

internal import HTTPClient
internal import Resilience

/// The outcome of one request to the collector, and the rules for retries
/// (https://opentelemetry.io/docs/specs/otlp/#otlphttp-response).
enum ExportOutcome: Hashable, Sendable {
    enum Limits {
        /// The requests for one batch.
        static let attempts = 5
        /// The longest delay before the first retry; doubled for each further retry.
        static let firstDelay: Duration = .seconds(1)
        /// The maximum delay, also if the collector asks for a longer delay.
        static let longestDelay: Duration = .seconds(30)
    }

    /// The collector took the batch, except the spans that it rejected, which must not be sent again.
    case accepted(rejected: Int)
    /// It takes no such request.
    case refused(String)
    /// It may take the batch later.
    case unavailable(String, retryAfter: Duration?)

    init(_ response: TransportResponse, ofSpans count: Int) {
        switch response.status {
        case 200...299: self = .accepted(rejected: OTLPTraces.rejectedSpans(in: response.body, atMost: count))
        case 429, 502, 503, 504: self = .unavailable("status \(response.status)", retryAfter: response.retryAfter)
        default: self = .refused("status \(response.status)")
        }
    }

    init(_ error: TransportError) {
        switch error {
        case .invalidURL, .insecureURL, .invalidHeader, .tooLarge, .forbiddenAddress, .tlsVerification:
            self = .refused(error.description)
        default: self = .unavailable(error.description, retryAfter: nil)
        }
    }

    var isRepeatable: Bool { if case .unavailable = self { true } else { false } }

    /// Returns the delay before a batch is sent again; nil for a batch that is not. It is random, so that nodes do not
    /// return together; never less than the collector asks for, up to the limit.
    func delay(afterAttempts count: Int, using generator: inout some RandomNumberGenerator) -> Duration? {
        guard case .unavailable(_, let retryAfter) = self, count < Limits.attempts else { return nil }
        let longest = Limits.firstDelay.doubled(count - 1, upTo: Limits.longestDelay)
        return min((retryAfter ?? .zero) + .random(upTo: longest, using: &generator), Limits.longestDelay)
    }
}

extension ExportOutcome: CustomStringConvertible {
    var description: String {
        switch self {
        case .accepted(let rejected): "\(rejected) spans rejected"
        case .refused(let reason), .unavailable(let reason, _): reason
        }
    }
}
