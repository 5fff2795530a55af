// SPDX-License-Identifier: Apache-2.0

internal import AppStore
package import Gateway
internal import JSON
internal import Receipts
package import Redis
internal import Synchronization

/// The fleet's knowledge of Apple's endpoints, in Redis: pauses, also of single quotas, and announcements of an end.
///
/// Each exchange publishes this node's knowledge and reads the other nodes' knowledge. A pause is sent as its remaining
/// time and stored as the time to live of its key, so that no node's clock matters; the longest wins. The announcement
/// in Redis wins until a node receives a newer announcement from Apple. The newer announcement replaces it only after a
/// minute, so that nodes with different announcements do not overwrite each other.
package final class RedisFleetState: FleetState {
    private let store: any RedisCommands
    private let upstreams: UpstreamState
    private let metrics: StoreMetrics
    private let refreshes: AsyncStream<Void>.Continuation
    private let quotaPauses: RedisQuotaPauses
    /// News from Apple that this node has not published yet. News without an announcement: Apple withdrew it.
    private let unpublished = Mutex<[UpstreamEndpoint: LifecycleUpdate]>([:])

    /// The key prefixes; the endpoint follows, or a pseudonymous name of a quota.
    package static let pausePrefix = "gw:pause:"
    package static let lifecyclePrefix = "gw:lifecycle:"
    static let keys: Set<[UInt8]> = Set(
        UpstreamEndpoint.allCases.flatMap { endpoint in
            [pausePrefix, lifecyclePrefix].map { Array(($0 + endpoint.storedName).utf8) }
        })

    enum Limits {
        /// The longest pause, as for a pause that Apple requests.
        static let pauseMilliseconds: Int64 = 3_600_000
        /// Pauses that differ by less are equal: each node counts down by itself.
        static let pauseSlackMilliseconds = 1000
        static let quietMilliseconds = 60_000
        /// The maximum size of a stored announcement that is read; more than any has.
        static let announcementBytes = 32_768
    }

    init(
        _ store: any RedisCommands, upstreams: UpstreamState, metrics: StoreMetrics,
        refreshes: AsyncStream<Void>.Continuation, quotaPauses: RedisQuotaPauses
    ) {
        self.store = store
        self.upstreams = upstreams
        self.metrics = metrics
        self.refreshes = refreshes
        self.quotaPauses = quotaPauses
    }

    package func publish(_ update: FleetUpdate, of endpoint: UpstreamEndpoint) {
        // The caller has updated `upstreams`; `exchange` reads the pauses there. It publishes the announcement given
        // here: a concurrent exchange can overwrite the announcement in `upstreams`.
        if case .lifecycle(let dates, let links) = update {
            unpublished.withLock { $0[endpoint] = LifecycleUpdate(dates: dates, links: links) }
        }
        refreshes.yield()
    }

    package func publish(pause: Duration, of quota: ServerAPIQuota) {
        quotaPauses.record(pause, of: quota)
        refreshes.yield()
    }

    func exchange() async {
        for endpoint in UpstreamEndpoint.allCases {
            await exchangePause(of: endpoint)
            await exchangeLifecycle(of: endpoint)
        }
        await quotaPauses.exchange()
    }

    private func exchangePause(of endpoint: UpstreamEndpoint) async {
        let mine = upstreams.guards.health(of: endpoint).pausedFor?.wholeMilliseconds ?? 0
        let reply = try? await store.run(
            Self.pause, keys: [RedisWord(Self.pausePrefix + endpoint.storedName)],
            mine, Limits.pauseSlackMilliseconds, "1")
        guard let reply else { return metrics.count(.pause, .lost) }
        guard case .integer(let left) = reply else { return metrics.count(.pause, .unreadable) }
        guard left > 0 else { return }
        upstreams.guards.pause(endpoint, for: .milliseconds(min(left, Limits.pauseMilliseconds)))
        if left > mine + Int64(Limits.pauseSlackMilliseconds) { metrics.count(.pause, .received) }
    }

    /// KEYS pause; ARGV this node's milliseconds, slack, value. Returns the effective milliseconds; negative for none.
    package static let pause = RedisScript(
        """
        local left = redis.call('PTTL', KEYS[1])
        local mine = tonumber(ARGV[1])
        if mine <= 0 or (left > 0 and mine <= left + tonumber(ARGV[2])) then return left end
        redis.call('SET', KEYS[1], ARGV[3], 'PX', ARGV[1])
        return mine
        """)

    /// KEYS pause. Returns its sealed quota, empty if it is none, and its milliseconds; nil without a pause.
    package static let quotaPause = RedisScript(
        """
        local quota = redis.pcall('GET', KEYS[1])
        if not quota then return false end
        -- Of another type, or longer than any sealed quota: not the gateway's, and too long to send.
        if type(quota) ~= 'string' or #quota > \(RedisQuotaPauses.Limits.valueBytes) then quota = '' end
        return { quota, redis.call('PTTL', KEYS[1]) }
        """)

    private func exchangeLifecycle(of endpoint: UpstreamEndpoint) async {
        let news = unpublished.withLock { $0.removeValue(forKey: endpoint) }
        let known = upstreams.lifecycle.state(of: endpoint)
        let mine = news ?? LifecycleUpdate(dates: known.announced, links: known.links)
        let reply = try? await store.run(
            Self.lifecycle, keys: [RedisWord(Self.lifecyclePrefix + endpoint.storedName)],
            RedisWord(mine.isEmpty && news == nil ? [] : mine.json), news == nil ? 0 : 1, Limits.quietMilliseconds)
        guard let reply else {
            publishAgain(news, of: endpoint)
            return metrics.count(.lifecycle, .lost)
        }
        if let news, news.isEmpty, LifecycleUpdate(stamped: reply.bytes ?? [])?.isEmpty == false {
            // The announcement is too young to be replaced: it is not adopted again, and withdrawn later.
            return publishAgain(news, of: endpoint)
        }
        // News that arrived meanwhile is newer than the reply.
        if unpublished.withLock({ $0[endpoint] == nil }) { learn(reply, of: endpoint) }
    }

    private func publishAgain(_ news: LifecycleUpdate?, of endpoint: UpstreamEndpoint) {
        guard let news else { return }
        unpublished.withLock { if $0[endpoint] == nil { $0[endpoint] = news } }
    }

    private func learn(_ reply: RedisValue, of endpoint: UpstreamEndpoint) {
        if reply == .null { return }
        guard let update = LifecycleUpdate(stamped: reply.bytes ?? []) else {
            return metrics.count(.lifecycle, .unreadable)
        }
        let isNew = upstreams.lifecycle.adopt(update.dates, links: update.links, of: endpoint)
        if isNew { metrics.count(.lifecycle, .received) }
    }

    /// KEYS announcement; ARGV this node's announcement or nothing, 1 if that is news, the minimum age for a
    /// replacement. Returns the effective announcement after its time of writing; nil for none.
    package static let lifecycle = RedisScript(
        """
        local kept = redis.call('GET', KEYS[1])
        -- Longer than any announcement: not the gateway's, and too long to send.
        if kept and #kept > \(Limits.announcementBytes) then kept = false end
        if ARGV[1] == '' or (kept and ARGV[2] == '0') then return kept end
        local time = redis.call('TIME')
        local now = time[1] * 1000 + math.floor(time[2] / 1000)
        if kept then
            local written, announcement = string.match(kept, '^(%d+) (.*)$')
            if announcement == ARGV[1] then return kept end
            local age = now - (tonumber(written) or 0)
            if age >= 0 and age < tonumber(ARGV[3]) then return kept end
        end
        kept = string.format('%.0f ', now) .. ARGV[1]
        redis.call('SET', KEYS[1], kept)
        return kept
        """)
}

/// Apple's announcement of an endpoint's end, as stored in Redis.
struct LifecycleUpdate: Hashable, Sendable {
    var dates: LifecycleDates
    var links: [LifecycleLink]

    enum Limits {
        /// The maximum size in bytes: all links at full length, and the JSON around them.
        static let bytes = EndpointAnnouncements.Limits.links * (EndpointAnnouncements.Limits.targetBytes + 64) + 256
        /// From 1970 to the end of the year 9999; other times have no form in a header.
        static let milliseconds: ClosedRange<Int64> = 0...253_402_300_799_999
        static let stampDigits = 1...16
    }

    fileprivate var isEmpty: Bool { dates == LifecycleDates() && links.isEmpty }

    /// `{"deprecation_ms":1,"sunset_ms":2,"links":[{"rel":"sunset","href":"https://..."}]}`
    var json: [UInt8] {
        JSONWriter.object { json in
            json.member("deprecation_ms", dates.deprecation?.millisecondsSince1970)
            json.member("sunset_ms", dates.sunset?.millisecondsSince1970)
            json.array("links") { json in
                for link in links.prefix(EndpointAnnouncements.Limits.links) { json.link(link) }
            }
        }
    }
}

extension LifecycleUpdate {
    /// Parses an update after its time of writing, in digits, and a space.
    init?(stamped bytes: [UInt8]) {
        let digits = bytes.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        guard Limits.stampDigits.contains(digits.count), bytes.dropFirst(digits.count).first == 0x20 else { return nil }
        self.init(json: Array(bytes.dropFirst(digits.count + 1)))
    }

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
