// SPDX-License-Identifier: Apache-2.0

package import Gateway
internal import HTTPClient
package import Receipts

/// The announcements of an endpoint's end in an answer's header: `Deprecation` (RFC 9745), `Sunset` (RFC 8594) and
/// links.
///
/// An unreadable header never fails an answer: unreadable parts are left out and listed in `faults`.
package struct EndpointAnnouncements: Hashable, Sendable {
    /// The start of the deprecation, past or future: the earliest one given.
    package var deprecation: Deprecation?
    /// The expected end of the endpoint: the earliest one given.
    package var sunset: Timestamp?
    package var links: [LifecycleLink] = []
    package var faults: [Fault] = []

    package enum Deprecation: Hashable, Sendable {
        /// `true`, from drafts of RFC 9745: deprecated already, without a date.
        case undated
        /// Deprecated from this time on, which may be in the future.
        case dated(Timestamp)
    }

    /// A header field that is parsed here; a closed set, for metrics.
    package enum Field: String, CaseIterable, Hashable, Sendable {
        case deprecation = "Deprecation"
        case sunset = "Sunset"
        case link = "Link"
    }

    package enum Fault: Hashable, Sendable, CustomStringConvertible {
        case unreadable(Field)
        case limitExceeded(Field)

        /// The fault in words, for log lines.
        package var description: String {
            switch self {
            case .unreadable(let field): "\(field.rawValue) cannot be read"
            case .limitExceeded(let field): "\(field.rawValue) is longer than is read"
            }
        }
    }

    package enum Limits {
        package static let lines = 8
        package static let lineBytes = 8192
        package static let links = 8
        package static let targetBytes = 2048
    }
}

extension EndpointAnnouncements {
    /// Parses the fields of a header; `values` returns the lines of a field by its name.
    package init(now: Timestamp, values: (String) -> [String]) {
        for read in read(.deprecation, values, as: { Deprecation(String($0.trimmingWhiteSpace), now: now) }) {
            deprecation = deprecation.map { $0.earlier(of: read, now: now) } ?? read
        }
        sunset = read(.sunset, values) { HTTPDate.timestamp($0, now: now) }.min()
        for links in read(.link, values, as: LinkField.links) { add(links) }
    }

    private mutating func read<Value>(
        _ field: Field, _ values: (String) -> [String], as parse: (String) -> Value?
    ) -> [Value] {
        let all = values(field.rawValue)
        let lines = all.prefix(Limits.lines).filter { $0.utf8.count <= Limits.lineBytes }
        if lines.count < all.count { faults.append(.limitExceeded(field)) }
        let readable = lines.compactMap(parse)
        faults += Array(repeating: .unreadable(field), count: lines.count - readable.count)
        return readable
    }

    private mutating func add(_ values: [LinkValue]) {
        for link in values.flatMap(\.announcements) where !links.contains(link) {
            guard link.target.utf8.count <= Limits.targetBytes, links.count < Limits.links else {
                faults.append(.limitExceeded(.link))
                return
            }
            links.append(link)
        }
    }
}

extension EndpointAnnouncements.Deprecation {
    /// RFC 9745 §2.1 has a structured date, `@1688169599`; earlier drafts had `true` and HTTP dates.
    fileprivate init?(_ text: String, now: Timestamp) {
        if text == "true" || text == "?1" {
            self = .undated
        } else if let date = Timestamp(structured: text) ?? HTTPDate.timestamp(text, now: now) {
            self = .dated(date)
        } else {
            return nil
        }
    }

    /// Returns the deprecation that begins earlier; a date in the past outweighs a deprecation without a date.
    fileprivate func earlier(of other: Self, now: Timestamp) -> Self {
        switch (self, other) {
        case (.dated(let one), .dated(let other)): .dated(min(one, other))
        case (.dated(let date), .undated), (.undated, .dated(let date)): date <= now ? .dated(date) : .undated
        case (.undated, .undated): .undated
        }
    }
}

extension Timestamp {
    /// RFC 9651 §3.3.7: `@` and an integer of at most 15 digits; parameters are ignored.
    fileprivate init?(structured text: String) {
        guard text.hasPrefix("@") else { return nil }
        let integer = text.dropFirst().prefix { $0 != ";" }
        let digits = integer.drop { $0 == "-" }
        guard digits.utf8.count <= 15, !digits.hasPrefix("+"), let seconds = Int64(integer) else { return nil }
        self.init(millisecondsSince1970: seconds * 1000)
    }
}

/// Records Apple's announcements about its endpoints, and publishes them to the other nodes.
struct LifecycleRecorder: Sendable {
    let lifecycle: UpstreamLifecycle
    let fleetState: any FleetState

    /// - Parameter isUsable: true for the header of an answer that only Apple gives. The header of another answer, such
    ///   as an error page, cannot withdraw an announcement.
    func record(_ head: ReplyHead, of endpoint: UpstreamEndpoint, isUsable: Bool) {
        let announcements = head.announcements
        let dates = LifecycleDates(
            // Deprecated already, without a date: an early date. Not the second 0, which means in the metrics that an
            // endpoint is not deprecated.
            deprecation: announcements.deprecation.map { deprecation in
                switch deprecation {
                case .dated(let date): date
                case .undated: Timestamp(millisecondsSince1970: 1000)
                }
            }, sunset: announcements.sunset)
        let isNews: Bool
        if dates != LifecycleDates() || !announcements.links.isEmpty {
            isNews = lifecycle.record(dates, links: announcements.links, of: endpoint)
        } else {
            isNews = isUsable && lifecycle.recordAbsence(of: endpoint, at: head.receivedAt)
        }
        if isNews { fleetState.publish(.lifecycle(dates, links: announcements.links), of: endpoint) }
    }
}

/// The wait that `Retry-After` requests.
///
/// RFC 9110 §10.2.3 allows seconds or a date; the App Store Server API sends milliseconds since 1970. The sizes are
/// unambiguous: 10^9 seconds are 31 years, and 10^12 ms since 1970 are in 2001.
package enum RetryAfter {
    /// The limit of one hour for any value, so that one wrong byte does not disable an upstream for days.
    package static let maximum: Duration = .seconds(3600)
    private static let maximumBytes = 64

    /// Returns the wait from `now`, 0 to `maximum`; nil if the value has no known form.
    package static func duration(_ value: String, now: Timestamp) -> Duration? {
        let text = String(value.trimmingWhiteSpace)
        guard !text.isEmpty, text.utf8.count <= maximumBytes else { return nil }
        let isNumber = text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        if isNumber { return duration(Int64(text) ?? .max, now: now) }
        return HTTPDate.timestamp(text, now: now).map { now.duration(until: $0.millisecondsSince1970) }
    }

    package static func duration(_ values: [String], now: Timestamp) -> Duration? {
        values.prefix(8).compactMap { duration($0, now: now) }.max()
    }

    private static func duration(_ number: Int64, now: Timestamp) -> Duration {
        switch number {
        case 1_000_000_000_000...: now.duration(until: number)
        case 1_000_000_000...: now.duration(until: number * 1000)
        default: min(.seconds(number), maximum)
        }
    }
}

extension Timestamp {
    /// Returns the time until then, between 0 and the maximum.
    fileprivate func duration(until milliseconds: Int64) -> Duration {
        let (difference, overflow) = milliseconds.subtractingReportingOverflow(millisecondsSince1970)
        if overflow { return milliseconds < 0 ? .zero : RetryAfter.maximum }
        return min(max(.milliseconds(difference), .zero), RetryAfter.maximum)
    }
}
