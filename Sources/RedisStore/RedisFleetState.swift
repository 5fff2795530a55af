// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Gateway
internal import Receipts
package import Redis
internal import Synchronization

/// What one node learns of Apple's endpoints, kept in Redis for all: until when to leave them alone, and when they end.
///
/// Each exchange tells what this node knows and learns what the others do. A pause is told as the time that is left and
/// kept as the time to live of its key, so that no node's clock matters; the longest counts. Of two announcements the one
/// in Redis counts, until a node hears another from Apple: then it replaces the old one, but no sooner than after a
/// minute, so that nodes to which Apple says different things do not overwrite each other back and forth.
package final class RedisFleetState: FleetState {
    private let store: any RedisCommands
    private let upstreams: UpstreamState
    private let metrics: StoreMetrics
    private let alarm: RefreshSignal
    /// The endpoints of which this node has just heard something new from Apple.
    private let news = Mutex<Set<UpstreamEndpoint>>([])

    /// The beginnings of the keys; the endpoint follows.
    package static let pausePrefix = "gw:pause:"
    package static let lifecyclePrefix = "gw:lifecycle:"
    /// All keys.
    static let keys: Set<[UInt8]> = Set(
        UpstreamEndpoint.allCases.flatMap { endpoint in
            [pausePrefix, lifecyclePrefix].map { Array(($0 + endpoint.storedName).utf8) }
        })

    enum Limits {
        /// The longest pause, as for one that Apple asks for.
        static let pauseMilliseconds: Int64 = 3_600_000
        /// Pauses that differ by less are one: each node counts it down by itself.
        static let pauseSlackMilliseconds = 1000
        /// How long an announcement stands before another may replace it.
        static let quietMilliseconds = 60_000
        /// Bytes of what lies in the place of an announcement, to be looked at; more than any has.
        static let announcementBytes = 32_768
    }

    /// - Parameters:
    ///   - store: where the notes are.
    ///   - upstreams: what this node knows.
    ///   - metrics: counts what is told and learnt.
    ///   - alarm: makes somebody call `exchange`.
    init(_ store: any RedisCommands, upstreams: UpstreamState, metrics: StoreMetrics, alarm: RefreshSignal) {
        self.store = store
        self.upstreams = upstreams
        self.metrics = metrics
        self.alarm = alarm
    }

    func tell(_ note: FleetUpdate, of endpoint: UpstreamEndpoint) {
        // What is told is known here by now; `exchange` looks it up.
        if case .lifecycle = note { news.withLock { _ = $0.insert(endpoint) } }
        alarm.ring()
    }

    /// Tells what this node knows, and learns what the others do.
    func exchange() async {
        for endpoint in UpstreamEndpoint.allCases {
            await exchangePause(of: endpoint)
            await exchangeLifecycle(of: endpoint)
        }
    }
}

// MARK: - Pauses

extension RedisFleetState {
    private func exchangePause(of endpoint: UpstreamEndpoint) async {
        let mine = upstreams.guards.health(of: endpoint).pausedFor?.wholeMilliseconds ?? 0
        let reply = try? await store.run(
            Self.pause, keys: [RedisWord(Self.pausePrefix + endpoint.storedName)],
            [RedisWord(mine), RedisWord(Limits.pauseSlackMilliseconds)])
        guard let reply else { return metrics.count(.pause, .lost) }
        guard case .integer(let left) = reply else { return metrics.count(.pause, .unreadable) }
        guard left > 0 else { return }
        upstreams.guards.pause(endpoint, for: .milliseconds(min(left, Limits.pauseMilliseconds)))
        if left > mine + Int64(Limits.pauseSlackMilliseconds) { metrics.count(.pause, .learnt) }
    }

    /// KEYS pause; ARGV milliseconds that this node knows of, slack. The milliseconds that count; negative for none.
    package static let pause = RedisScript(
        """
        local left = redis.call('PTTL', KEYS[1])
        local mine = tonumber(ARGV[1])
        if mine <= 0 or (left > 0 and mine <= left + tonumber(ARGV[2])) then return left end
        redis.call('SET', KEYS[1], '1', 'PX', ARGV[1])
        return mine
        """)
}

// MARK: - Announcements

extension RedisFleetState {
    private func exchangeLifecycle(of endpoint: UpstreamEndpoint) async {
        let known = upstreams.lifecycle.state(of: endpoint)
        let mine = LifecycleUpdate(dates: known.announced, links: known.links)
        let isNews = news.withLock { $0.remove(endpoint) } != nil
        let reply = try? await store.run(
            Self.lifecycle, keys: [RedisWord(Self.lifecyclePrefix + endpoint.storedName)],
            [RedisWord(mine.isEmpty ? [] : mine.json), isNews ? 1 : 0, RedisWord(Limits.quietMilliseconds)])
        guard let reply else {
            if isNews { news.withLock { _ = $0.insert(endpoint) } }
            return metrics.count(.lifecycle, .lost)
        }
        learn(reply, of: endpoint)
    }

    private func learn(_ reply: RedisValue, of endpoint: UpstreamEndpoint) {
        switch reply {
        case .null: break
        case .string(let bytes):
            guard let note = LifecycleUpdate(stamped: bytes) else { return metrics.count(.lifecycle, .unreadable) }
            let isNew = upstreams.lifecycle.learn(note.dates, links: note.links, of: endpoint)
            if isNew { metrics.count(.lifecycle, .learnt) }
        default: metrics.count(.lifecycle, .unreadable)
        }
    }

    /// Both scripts, to be loaded before they are called.
    static let scripts = [pause, lifecycle]

    /// KEYS announcement; ARGV what this node knows or nothing, whether that is news, the time of quiet. The announcement
    /// that counts, behind the time at which it was written; nil for none.
    package static let lifecycle = RedisScript(
        """
        local kept = redis.call('GET', KEYS[1])
        -- Longer than any announcement: somebody else's, and too long to be carried about.
        if kept and #kept > \(Limits.announcementBytes) then kept = false end
        if ARGV[1] == '' or (kept and ARGV[2] == '0') then return kept end
        local time = redis.call('TIME')
        local now = time[1] * 1000 + math.floor(time[2] / 1000)
        if kept then
            local written, note = string.match(kept, '^(%d+) (.*)$')
            if note == ARGV[1] then return kept end
            local age = now - (tonumber(written) or 0)
            if age >= 0 and age < tonumber(ARGV[3]) then return kept end
        end
        kept = string.format('%.0f ', now) .. ARGV[1]
        redis.call('SET', KEYS[1], kept)
        return kept
        """)
}

extension LifecycleUpdate {
    fileprivate var isEmpty: Bool { dates == LifecycleDates() && links.isEmpty }

    /// A note behind the time at which it was written, in digits, and a space.
    init?(stamped bytes: [UInt8]) {
        let digits = bytes.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        guard (1...Self.maximumStampDigits).contains(digits.count), bytes.dropFirst(digits.count).first == 0x20
        else { return nil }
        self.init(json: Array(bytes.dropFirst(digits.count + 1)))
    }

    private static let maximumStampDigits = 16
}
