// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import AppStore
package import Gateway
internal import JSON
internal import Receipts

/// Apple's announcement of an endpoint's end, as stored in Redis.
struct LifecycleUpdate: Hashable, Sendable {
    var dates: LifecycleDates
    var links: [LifecycleLink]

    enum Limits {
        /// The maximum size in bytes: all links at full length, and the JSON around them.
        static let bytes = EndpointAnnouncements.Limits.links * (EndpointAnnouncements.Limits.targetBytes + 64) + 256
        /// From 1970 to the end of the year 9999; other times have no form in a header.
        static let milliseconds: ClosedRange<Int64> = 0...253_402_300_799_999
    }

    /// `{"deprecation_ms":1,"sunset_ms":2,"links":[{"rel":"sunset","href":"https://..."}]}`
    var json: [UInt8] {
        var json = JSONWriter()
        json.object { json in
            json.member("deprecation_ms", milliseconds: dates.deprecation)
            json.member("sunset_ms", milliseconds: dates.sunset)
            json.key("links")
            json.array { json in
                for link in links.prefix(EndpointAnnouncements.Limits.links) { json.link(link) }
            }
        }
        return json.bytes
    }
}

extension LifecycleUpdate {
    /// Parses an update. The links end up in response headers, so they are checked as Apple's are.
    init?(json bytes: [UInt8]) {
        let limits = JSONValue.Limits(bytes: Limits.bytes, depth: 3, values: 64)
        guard let update = try? JSONValue(parsing: bytes, limits: limits), update.members != nil,
            let deprecation = Timestamp.stored(update["deprecation_ms"]),
            let sunset = Timestamp.stored(update["sunset_ms"]), let links = update["links"]?.elements,
            links.count <= EndpointAnnouncements.Limits.links
        else { return nil }
        let read = links.compactMap { LifecycleLink($0) }
        guard read.count == links.count else { return nil }
        self.init(dates: LifecycleDates(deprecation: deprecation, sunset: sunset), links: read)
    }
}

extension LifecycleLink {
    fileprivate init?(_ json: JSONValue) {
        guard let relation = json["rel"]?.string.flatMap({ Relation(rawValue: $0) }), let target = json["href"]?.string
        else { return nil }
        self.init(checking: target, relation)
    }
}

extension Timestamp {
    /// Parses a time: `.some(nil)` if the member is absent, nil if it is not a time.
    fileprivate static func stored(_ json: JSONValue?) -> Timestamp?? {
        guard let json else { return .some(nil) }
        guard let milliseconds = json.number?.integer, LifecycleUpdate.Limits.milliseconds.contains(milliseconds)
        else { return nil }
        return Timestamp(millisecondsSince1970: milliseconds)
    }
}

extension JSONWriter {
    /// Writes a link about an endpoint's end.
    package mutating func link(_ link: LifecycleLink) {
        object { json in
            json.member("rel", link.relation.rawValue)
            json.member("href", link.target)
        }
    }

    fileprivate mutating func member(_ name: String, milliseconds time: Timestamp?) {
        guard let time else { return }
        key(name)
        integer(time.millisecondsSince1970)
    }
}
