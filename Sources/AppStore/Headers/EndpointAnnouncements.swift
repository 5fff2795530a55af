// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Receipts

/// What the header of an answer announces about the endpoint's end: `Deprecation` (RFC 9745), `Sunset` (RFC 8594) and
/// the links that go with them.
///
/// An answer is never refused for what its header says: what cannot be read is left out, and named in `faults`.
package struct EndpointAnnouncements: Hashable, Sendable {
    /// Since when, or from when on, the endpoint is deprecated: the earliest that is said.
    package var deprecation: Deprecation?
    /// When the endpoint is expected to go: the earliest that is said.
    package var sunset: Timestamp?
    /// Where people can read more, and what comes after.
    package var links: [AnnouncementLink] = []
    /// What could not be read.
    package var faults: [Fault] = []

    /// Nothing is announced.
    package init() {}

    /// A deprecation, with a date if there is one.
    package enum Deprecation: Hashable, Sendable {
        /// `true`, from drafts of RFC 9745: deprecated already, nobody says since when.
        case undated
        /// Deprecated from this moment on, which may lie ahead.
        case dated(Timestamp)
    }

    /// A header field that is read here; a closed set, for metrics.
    package enum Field: String, CaseIterable, Hashable, Sendable {
        case deprecation = "Deprecation"
        case sunset = "Sunset"
        case link = "Link"
    }

    /// A part of a field that was left out.
    package enum Fault: Hashable, Sendable {
        /// It is not in any of the forms that are known.
        case unreadable(Field)
        /// It is longer, or there is more of it, than is read.
        case tooMuch(Field)
    }

    /// The most that is read.
    package enum Limits {
        /// Lines of one field.
        package static let lines = 8
        /// Bytes of one line.
        package static let lineBytes = 8192
        /// Links that are kept.
        package static let links = 8
        /// Bytes of a link's target.
        package static let targetBytes = 2048
    }
}

// MARK: - Reading

extension EndpointAnnouncements {
    /// Reads the fields of a header; `values` gives the lines of a field by its name.
    package init(now: Timestamp, values: (String) -> [String]) {
        for line in lines(of: .deprecation, values) { read(deprecation: line, now: now) }
        for line in lines(of: .sunset, values) { read(sunset: line, now: now) }
        for line in lines(of: .link, values) { read(link: line) }
    }

    /// The lines that are short enough, and as many of them as are read.
    private mutating func lines(of field: Field, _ values: (String) -> [String]) -> [String] {
        let all = values(field.rawValue)
        let lines = all.prefix(Limits.lines).filter { $0.utf8.count <= Limits.lineBytes }
        if lines.count < all.count { faults.append(.tooMuch(field)) }
        return lines
    }

    private mutating func read(deprecation line: String, now: Timestamp) {
        guard let read = Deprecation(line.trimmingWhiteSpace, now: now) else {
            faults.append(.unreadable(.deprecation))
            return
        }
        deprecation = deprecation.map { $0.earlier(of: read, now: now) } ?? read
    }

    private mutating func read(sunset line: String, now: Timestamp) {
        guard let read = HTTPDate.timestamp(line, now: now) else {
            faults.append(.unreadable(.sunset))
            return
        }
        sunset = min(sunset ?? read, read)
    }

    private mutating func read(link line: String) {
        guard let read = LinkField.links(line) else {
            faults.append(.unreadable(.link))
            return
        }
        for link in read.flatMap(\.announcements) where !links.contains(link) {
            guard link.target.utf8.count <= Limits.targetBytes, links.count < Limits.links else {
                faults.append(.tooMuch(.link))
                return
            }
            links.append(link)
        }
    }
}

extension EndpointAnnouncements.Deprecation {
    /// RFC 9745 §2.1 has a date of structured fields, `@1688169599`; drafts before it had `true` and HTTP dates.
    fileprivate init?(_ text: String, now: Timestamp) {
        if text == "true" || text == "?1" {
            self = .undated
        } else if let date = Timestamp(structured: text) ?? HTTPDate.timestamp(text, now: now) {
            self = .dated(date)
        } else {
            return nil
        }
    }

    /// The one that begins earlier; a date in the past says more than none.
    fileprivate func earlier(of other: Self, now: Timestamp) -> Self {
        switch (self, other) {
        case (.dated(let one), .dated(let other)): .dated(min(one, other))
        case (.dated(let date), .undated), (.undated, .dated(let date)): date <= now ? .dated(date) : .undated
        case (.undated, .undated): .undated
        }
    }
}

extension Timestamp {
    /// RFC 9651 §3.3.7: `@` and an integer of at most 15 digits; parameters may follow and mean nothing here.
    fileprivate init?(structured text: String) {
        guard text.hasPrefix("@") else { return nil }
        let integer = text.dropFirst().prefix { $0 != ";" }
        let digits = integer.drop { $0 == "-" }
        guard digits.utf8.count <= 15, !digits.hasPrefix("+"), let seconds = Int64(integer) else { return nil }
        self.init(millisecondsSince1970: seconds * 1000)
    }
}
