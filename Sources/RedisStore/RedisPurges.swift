// SPDX-License-Identifier: Apache-2.0

package import Gateway
internal import JSON
package import Receipts
package import Redis
package import Resilience
internal import Synchronization

/// The purges of the fleet, in Redis, and the newest purges in this process.
///
/// ```
/// gw:{purges}:head   <history>:<number of the last purge>:<its nonce>   read with each lookup
/// gw:{purges}:log    the last 65,536 purges, encrypted, newest last     read when the head has moved
/// ```
/// Neither key expires, so `volatile-lru` does not evict them. A missing head starts a new history; a log that is
/// missing, or shorter than this node remembers, invalidates older results. A head that went back was restored from a
/// backup without some purges: then a new history starts too, and all earlier results are invalid.
package final class RedisPurges: ResultPurges {
    private let store: any RedisCommands
    private let seal: StoreSeal
    private let counters: InvalidationCounters
    private let clock: @Sendable () -> Timestamp
    private let observe: @Sendable (SharedCacheFault) -> Void
    private let known = Mutex(KnownPurges())
    private let reads = Mutex(Reads())
    private let refreshes = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))

    static let headKey = "gw:{purges}:head"
    static let head = RedisWord(headKey)
    static let log: RedisWord = "gw:{purges}:log"
    static let keys = [head, log]

    enum Limits {
        static let page = 4096
        /// Replies before this node gives up for now: a whole log, and reserve for a history that changes.
        static let pages = 2 * PurgeHistory.Limits.purges / page
        /// The purges that one call adds.
        static let appended = 256
        static let sealedName = "purge"
    }

    /// - Parameter counters: get each purge, for answers kept in this process.
    init(
        _ store: any RedisCommands, seal: StoreSeal, counters: InvalidationCounters,
        clock: @escaping @Sendable () -> Timestamp, observe: @escaping @Sendable (SharedCacheFault) -> Void
    ) {
        (self.store, self.seal, self.counters) = (store, seal, counters)
        (self.clock, self.observe) = (clock, observe)
    }

    package var position: PurgePosition { known.withLock { $0.history.position } }

    package func decision(for result: CachedResult, naming ids: [String], in bundleID: String?) -> PurgeDecision {
        known.withLock { $0.history.purgeDecision(for: result, naming: ids, in: bundleID) }
    }

    package func knownPurge(of ids: [String], in bundleID: String?, since time: Timestamp) -> KnownPurge {
        known.withLock { known in
            if known.history.names(ids, in: bundleID) { return .named }
            return known.isComplete(since: time) ? .none : .unknown
        }
    }

    package func lastPurge(of id: String, in bundleID: String?) -> UInt64 {
        known.withLock { $0.history.lastPurge(of: id, in: bundleID) }
    }

    package func version(watching ids: [String]) -> InvalidationVersion { counters.version(watching: ids) }

    static let readHead = RedisCommand("GET", key: head)

    /// Returns true if this node knows every purge up to this head.
    func isKnown(_ head: RedisValue) -> Bool {
        guard case .string(let text) = head else { return false }
        return known.withLock { $0.head == text }
    }

    // MARK: - Purging

    /// Adds purges for all nodes, and waits until this node knows them.
    package func purge(_ purges: [Purge]) async throws(StoreUnreachable) {
        try await append(purges, over: store)
        guard await catchUp() else { throw StoreUnreachable() }
    }

    /// Does the same over other connections, on which many purges may take longer than requests wait. It shares no read
    /// with requests, whose failure would be its own.
    func purge(_ purges: [Purge], over redis: any RedisCommands) async throws(StoreUnreachable) {
        try await append(purges, over: redis)
        guard await readAll(over: redis) else { throw StoreUnreachable() }
    }

    private func append(_ purges: [Purge], over redis: any RedisCommands) async throws(StoreUnreachable) {
        for start in stride(from: 0, to: purges.count, by: Limits.appended) {
            let sealed = purges[start..<min(purges.count, start + Limits.appended)].map {
                RedisWord(seal.seal($0.storedBytes, for: Limits.sealedName))
            }
            let call = ScriptCall(
                keys: Self.keys, PurgeHistory.Limits.purges, Self.randomName(), Self.randomName(), sealed)
            try await redis.replies(Self.append, [call])
        }
    }

    private static func randomName() -> String { String(UInt64.random(in: 1 ... .max), radix: 16) }

    // MARK: - Catching up

    /// The reads of the log: the current read, and the next read for all callers that arrived meanwhile.
    private struct Reads {
        var current: Task<Bool, Never>?
        var next: Task<Bool, Never>?
    }

    /// Reads the purges this node does not know yet. The read begins after the call and serves all waiting callers.
    /// - Returns: false if Redis is unreachable or its data is invalid.
    @discardableResult
    func catchUp() async -> Bool {
        let read = reads.withLock { reads in
            if let next = reads.next { return next }
            let current = reads.current
            let next = Task {
                _ = await current?.value
                self.reads.withLock { $0 = Reads(current: $0.next) }
                return await self.readAll(over: self.store)
            }
            reads.next = next
            return next
        }
        return await read.value
    }

    private func readAll(over redis: any RedisCommands) async -> Bool {
        let announcements = counters.announcements
        let isComplete = await readPages(over: redis)
        known.withLock { $0.isFollowed = isComplete }
        // Unreadable purges may concern any cached answer. Answers from now on carry the new position.
        if !isComplete { counters.invalidateAll() }
        counters.resolve(upTo: announcements)
        return isComplete
    }

    private func readPages(over redis: any RedisCommands) async -> Bool {
        for _ in 0..<Limits.pages {
            switch await readPage(over: redis) {
            case .complete: return true
            case .more: continue
            case .failed: return false
            }
        }
        return false
    }

    /// Suspends answers from this process until all purges are known, and triggers a read.
    func announce() {
        counters.announceChange()
        refreshes.continuation.yield()
    }

    /// Reads new purges on each announcement, until cancelled.
    func follow() async { for await _ in refreshes.stream { await catchUp() } }

    private enum Progress {
        case complete, more, failed
    }

    private func readPage(over redis: any RedisCommands) async -> Progress {
        let position = position
        let reply = try? await redis.run(
            Self.tail, keys: Self.keys, String(position.history, radix: 16), position.number, Self.randomName(),
            Limits.page)
        guard let reply, let page = PurgePage(reply) else { return .failed }
        let purges = page.entries.map { (sealed: $0, purge: open($0)) }
        // The counters change under the lock: another read that finds the head known may allow cached answers again.
        let progress = known.withLock { known -> Progress? in
            switch known.add(page, purges, readAt: position) {
            case .rolledBack: return nil
            case .added(let purges):
                for purge in purges { counters.invalidate(purge) }
            case .restarted:
                known.adopt(page, at: clock())
                counters.invalidateAll()
            }
            return known.head == page.headText ? .complete : .more
        }
        if let progress { return progress }
        return await beginHistory(after: page, over: redis) ? .more : .failed
    }

    private func open(_ sealed: [UInt8]) -> Purge? {
        do throws(SharedCacheFault) {
            guard let purge = Purge(storedBytes: try seal.open(sealed, for: Limits.sealedName)) else {
                throw SharedCacheFault.unreadable
            }
            return purge
        } catch {
            observe(error)
            return nil
        }
    }

    private func beginHistory(after page: PurgePage, over redis: any RedisCommands) async -> Bool {
        observe(.purgesLost)
        let reply = try? await redis.run(Self.restart, keys: Self.keys, RedisWord(page.headText), Self.randomName())
        return reply != nil
    }

    // MARK: - Scripts

    static let scripts = [append, tail, restart]

    /// A Lua function. `position()` returns the history and the number of the head, the head, and the length of the
    /// log. It returns nothing without a head, or if nodes cannot read what another writer put in place of head or log.
    private static let position = """
        local function typed(reply)
            if type(reply) == 'table' and not string.find(reply.err, 'WRONGTYPE', 1, true) then error(reply) end
            return reply
        end
        local function position()
            local head, entries = typed(redis.pcall('GET', KEYS[1])), typed(redis.pcall('LLEN', KEYS[2]))
            if type(head) ~= 'string' or type(entries) ~= 'number' then return nil end
            local history, number, nonce = string.match(head, '^([1-9a-f]%x*):(%d+):(%x+)$')
            if not history or math.max(#history, #nonce) > 16 or #number > 14 then return nil end
            if tonumber(number) < entries then return nil end
            return history, tonumber(number), head, entries
        end

        """

    /// KEYS head, log; ARGV maximum entries, a new history's name, the last purge's nonce, the encrypted purges. Returns
    /// the new head.
    ///
    /// Also with a full memory, which refuses only the first write of a script if that needs memory: the log is bounded.
    static let append = RedisScript(
        position + """
            redis.pcall('LTRIM', KEYS[2], 0, -1)
            local history, number = position()
            if not history then
                redis.call('DEL', KEYS[2])
                history, number = ARGV[2], 0
            end
            for i = 4, #ARGV do redis.call('RPUSH', KEYS[2], ARGV[i]) end
            redis.call('LTRIM', KEYS[2], -tonumber(ARGV[1]), -1)
            local head = history .. string.format(':%.0f:', number + #ARGV - 3) .. ARGV[3]
            redis.call('SET', KEYS[1], head)
            return head
            """)

    /// KEYS head, log; ARGV the node's history and number, a new history's name, entries per page. Returns the head,
    /// the number of the first entry, and the entries from the last entry the node knows. Starts a history if there is
    /// none.
    static let tail = RedisScript(
        position + """
            local history, number, head, entries = position()
            if not history then
                redis.call('DEL', KEYS[2])
                head = ARGV[3] .. ':0:0'
                redis.call('SET', KEYS[1], head)
                return { head, '1' }
            end
            local missing = number - entries
            local known = history == ARGV[1] and tonumber(ARGV[2]) or 0
            local first = math.max(known, missing + 1, 1)
            local reply = { head, string.format('%.0f', math.min(first, number + 1)) }
            if first > number then return reply end
            local from = first - missing - 1
            for _, entry in ipairs(redis.call('LRANGE', KEYS[2], from, from + ARGV[4] - 1)) do reply[#reply + 1] = entry end
            return reply
            """)

    /// KEYS head, log; ARGV the head that lacks purges, a new history's name. Returns 1 if a new history began.
    package static let restart = RedisScript(
        """
        if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
        redis.call('DEL', KEYS[2])
        redis.call('SET', KEYS[1], ARGV[2] .. ':0:0')
        return 1
        """)
}

private struct KnownPurges {
    private(set) var history = PurgeHistory()
    /// The head up to which all purges are known, as stored in Redis.
    private(set) var head: [UInt8] = []
    /// The last purge, as stored in the log.
    private var last: [UInt8] = []
    /// The last purge before this node followed the history, and the time. Earlier histories may have had more.
    private var adoption: (number: UInt64, time: Timestamp)?
    /// True if the last read reached the end of the log. Every two seconds there is a read.
    var isFollowed = false

    mutating func adopt(_ page: PurgePage, at now: Timestamp) { adoption = (page.head.number, now) }

    /// Returns true if all purges since a time are known.
    func isComplete(since time: Timestamp) -> Bool {
        guard isFollowed, let adoption, adoption.time < time else { return false }
        return history.isComplete(after: adoption.number)
    }

    enum Addition {
        case added([Purge])
        /// Purges were skipped, or another history began.
        case restarted
        /// The log lacks purges that are known here.
        case rolledBack
    }

    /// - Parameters:
    ///   - purges: the page's entries, as stored and read; nil for an unreadable entry.
    ///   - position: the last known purge when the page was read. An outdated page is ignored.
    mutating func add(
        _ page: PurgePage, _ purges: [(sealed: [UInt8], purge: Purge?)], readAt position: PurgePosition
    ) -> Addition {
        guard history.position == position else { return .added([]) }
        let isSameHistory = page.head.history == history.position.history
        guard !isSameHistory || !isRolledBack(page) else { return .rolledBack }
        let hasGap = !isSameHistory || page.first > history.position.number + 1
        if hasGap {
            history = PurgeHistory(from: PurgePosition(history: page.head.history, number: page.first - 1))
        }
        var added: [Purge] = []
        var isReadable = true
        for (sealed, purge) in purges.dropFirst(Int(clamping: history.position.number + 1 - page.first)) {
            let name = PurgePage.name(of: sealed)
            if let purge {
                history.append(purge, name: name)
                added.append(purge)
            } else {
                history.skip(to: history.position.number + 1, name: name)
                isReadable = false
            }
        }
        if let newest = page.entries.last { last = newest }
        if history.position.number == page.head.number { head = page.headText }
        return hasGap || !isReadable ? .restarted : .added(added)
    }

    /// Returns true if the log ends before the last known purge, or differs from it.
    private func isRolledBack(_ page: PurgePage) -> Bool {
        let number = history.position.number
        guard page.head.number >= number else { return true }
        return page.first == number && !page.entries.isEmpty && page.entries[0] != last
    }
}

/// A part of the log from the script: the head, the number of the first entry, and the entries.
private struct PurgePage {
    let head: PurgePosition
    let headText: [UInt8]
    let first: UInt64
    let entries: [[UInt8]]

    init?(_ reply: RedisValue) {
        guard case .array(let parts) = reply, parts.count >= 2, parts.count <= 2 + RedisPurges.Limits.page,
            case .string(let headText) = parts[0], let head = PurgePosition(head: headText),
            case .string(let digits) = parts[1],
            let first = Int64(stored: digits).map({ UInt64(clamping: $0) }), first >= 1, first <= head.number + 1
        else { return nil }
        let entries = parts.dropFirst(2).compactMap(\.bytes)
        guard entries.count == parts.count - 2, UInt64(entries.count) <= head.number + 1 - first else { return nil }
        (self.head, self.headText, self.first, self.entries) = (head, headText, first, entries)
    }

    /// Returns the name of a purge: the end of its ciphertext, which is as good as random.
    static func name(of sealed: [UInt8]) -> UInt64 { sealed.suffix(8).reduce(0) { $0 << 8 | UInt64($1) } }
}

extension Purge {
    /// The stored form, before encryption: the ID; for one app the ID, a space and the bundle ID.
    fileprivate var storedBytes: [UInt8] { Array((bundleID.map { "\(id) \($0)" } ?? id).utf8) }

    fileprivate init?(storedBytes bytes: [UInt8]) {
        let parts = bytes.split(separator: UInt8(ascii: " "), maxSplits: 1, omittingEmptySubsequences: false)
        guard let id = String(outside: parts[0]) else { return nil }
        let bundleID = parts.count == 2 ? String(outside: parts[1]) : nil
        guard parts.count == 1 || bundleID != nil else { return nil }
        self.init(id, in: bundleID)
    }
}

extension PurgePosition {
    /// Parses a head: `<history>:<number>:<nonce>`, with hexadecimal names.
    fileprivate init?(head: [UInt8]) {
        guard head.count <= Self.maximumHeadBytes else { return nil }
        let parts = (String(outside: head) ?? "").split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 3, let history = UInt64(parts[0], radix: 16), history != 0, let number = UInt64(parts[1]),
            number < Self.end
        else { return nil }
        self.init(history: history, number: number)
    }

    /// The first number that scripts take for none: 15 digits.
    private static let end: UInt64 = 100_000_000_000_000

    /// Two names of 16 digits, a number of 14, and two colons.
    private static let maximumHeadBytes = 48
}
