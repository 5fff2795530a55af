// SPDX-License-Identifier: Apache-2.0

internal import Gateway
internal import Resilience

/// The keys that Apple rejected, each for an app at a host. They are not used for a while, which doubles
/// with each further rejection.
struct KeyPauses: Sendable {
    enum Limits {
        static let shortest: Duration = .seconds(60)
        static let longest: Duration = .seconds(3600)
        /// Keys and apps are the operator's; reloads may replace them.
        static let count = 10_000
    }

    /// A key for an app at a host. A new private key under the same key ID is another key.
    struct Subject: Hashable, Sendable {
        let key: ServerAPIKey
        let bundleID: String
        let environment: UpstreamEnvironment
    }

    private var pauses: [Subject: (end: Instant, span: Duration)] = [:]

    /// Records that no host accepted the key.
    /// - Returns: the new pause; nil during a pause, to which calls in flight add nothing.
    mutating func recordRejection(of subject: Subject, at now: Instant) -> Duration? {
        let last = pauses[subject]
        if let last, now < last.end { return nil }
        if last == nil, pauses.count >= Limits.count, let first = pauses.min(by: { $0.value.end < $1.value.end }) {
            pauses[first.key] = nil
        }
        let span = last.map { min($0.span * 2, Limits.longest) } ?? Limits.shortest
        pauses[subject] = (now + span, span)
        return span
    }

    mutating func recordAcceptance(of subject: Subject) {
        if !pauses.isEmpty { pauses[subject] = nil }
    }

    func remaining(of subject: Subject, at now: Instant) -> Duration? {
        guard let end = pauses[subject]?.end, now < end else { return nil }
        return min(now.duration(to: end), Limits.longest)
    }

    /// - Parameter isUsed: returns false for a key that was replaced, which no operator needs to know of.
    func current(at now: Instant, where isUsed: (Subject) -> Bool = { _ in true }) -> [PausedKey] {
        pauses.keys.filter(isUsed).compactMap { subject in
            remaining(of: subject, at: now).map { remaining in
                PausedKey(keyID: subject.key.keyID, bundleID: subject.bundleID, remaining: remaining)
            }
        }.sorted { ($0.bundleID, $0.keyID) < ($1.bundleID, $1.keyID) }
    }
}

/// A key that Apple rejected for an app.
package struct PausedKey: Hashable, Sendable {
    package let keyID: String
    package let bundleID: String
    package let remaining: Duration
}
