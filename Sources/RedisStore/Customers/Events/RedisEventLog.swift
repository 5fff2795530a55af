// SPDX-License-Identifier: Apache-2.0

package import Customers
package import Gateway
package import Receipts
internal import Redis

/// Events in Redis, encrypted, in a stream for each partition.
///
/// It uses the connections for notifications: a page of events is large, and verifications must not wait behind it.
struct RedisEventLog: EventLog, EventWriter {
    let redis: any RedisCommands
    let seal: StoreSeal
    let retention: EventRetention
    private let observe: @Sendable (SharedCacheFault) -> Void

    enum Limits {
        /// The bytes after which a page ends. Its first entry may be larger.
        static let pageBytes = 1 << 20
        /// The part of the log that is read again after the store lost its end. The new primary's clock may be behind
        /// the old primary's clock.
        static let clockDifference: Duration = .seconds(3600)
    }

    init(
        _ redis: any RedisCommands, keys: StoreKeys, retention: EventRetention,
        observe: @escaping @Sendable (SharedCacheFault) -> Void
    ) {
        self.redis = redis
        self.retention = retention
        self.observe = observe
        seal = StoreSeal(keys: keys)
    }

    // MARK: - Writing

    func append(_ event: Event) async throws(StoreUnreachable) {
        let keys = NotificationKeys(event.partition)
        try await redis.count(
            EventScripts.add, keys: [keys.totals, keys.events], retention, event.sealed(keys, seal))
    }

    // MARK: - Reading

    func read(_ queries: [EventQuery]) async -> [EventBatch]? {
        guard var batches = await batches(queries) else { return nil }
        let lost = batches.indices.filter { batches[$0].isLost }
        let again = lost.map { index in queries[index].goingBack(Limits.clockDifference) }
        guard let reread = await self.batches(again) else { return nil }
        for (index, other) in zip(lost, reread) {
            batches[index] = other
            batches[index].batch.last = other.end
            batches[index].batch.missed = MissedEvents(count: nil)
        }
        return batches.map(\.batch)
    }

    private func batches(_ queries: [EventQuery]) async -> [ReadBatch]? {
        guard let replies = try? await redis.replies(EventScripts.read, queries.map(\.call)) else { return nil }
        let batches = zip(queries, replies).compactMap { query, reply in
            EventPage(reply).map { ReadBatch(query, $0) { event($0, query.partition, query.stream) } }
        }
        return batches.count == queries.count ? batches : nil
    }

    /// Returns the event of an entry; nil for an entry that cannot be decrypted or read.
    private func event(_ entry: EventEntry, _ partition: AppPartition, _ stream: EventStream) -> Event? {
        let keys = NotificationKeys(partition)
        do throws(SharedCacheFault) {
            switch stream {
            case .events: return try Event(sealed: entry.sealed, keys, seal, bundleID: partition.bundleID)
            case .relay:
                return Event(relaying: try NotificationRecord(sealed: entry.sealed, keys, seal), of: partition.bundleID)
            }
        } catch {
            observe(error)
            return nil
        }
    }
}

private struct ReadBatch {
    var batch: EventBatch
    /// True if the log does not have the position that was read before, although nothing removed it.
    let isLost: Bool
    /// The position after the batch, also if it is before the query's position.
    let end: EventPosition

    init(_ query: EventQuery, _ page: EventPage, event: (EventEntry) -> Event?) {
        let after = query.after, read = page.entries.map { ($0.position, event($0)) }
        let events = read.compactMap { position, event in event.map { LoggedEvent($0, at: position) } }
        let missed = page.missed(after: after)
        end = read.last?.0 ?? page.last
        isLost = page.isLost(after)
        batch = EventBatch(
            events: events, last: read.last?.0 ?? max(after, page.last),
            missed: missed == 0 ? nil : MissedEvents(count: missed), unreadable: read.count - events.count,
            hasMore: !read.isEmpty && end < page.last)
    }
}

struct EventPage {
    let entries: [EventEntry]
    let last: EventPosition
    /// The number of entries before these that were deleted with a customer's data.
    let erased: UInt64
    /// False if the log never had the entry at the position before these: it was read from a primary that is gone, and
    /// what the present primary wrote at that time was not read.
    let followsPosition: Bool

    init?(_ reply: RedisValue) {
        guard case .array(let parts) = reply, parts.count == 4, case .array(let entries) = parts[1],
            let last = parts[0].text, case .integer(let erased) = parts[2]
        else { return nil }
        followsPosition = parts[3] != .integer(0)
        self.erased = UInt64(clamping: erased)
        self.entries = entries.compactMap { EventEntry($0) }
        self.last = EventPosition(text: last) ?? .start
    }

    /// Returns true if the log lacks entries that were read before, up to a position.
    func isLost(_ after: EventPosition) -> Bool {
        guard after != .start else { return false }
        // The number of a damaged entry is 0.
        let isNumberedAnew = entries.first.map { $0.position.number > 0 && $0.position.number <= after.number } ?? false
        // If the newest entry was read last, nothing after it was missed, even if it is gone.
        return !followsPosition && last != after || last < after || last.number < after.number || isNumberedAnew
    }

    /// Returns the number of entries after a position that were removed before they were read. Entries that were
    /// deleted with a customer's data are not missed.
    func missed(after: EventPosition) -> UInt64 {
        let next = entries.first?.position.number ?? last.number + 1
        // Without its number it is not known which entry should be next.
        guard after.number > 0, next > after.number + 1 else { return 0 }
        let removed = next - after.number - 1
        return removed - min(erased, removed)
    }
}

struct EventEntry {
    let position: EventPosition
    let sealed: [UInt8]
    /// The value of the first field: of an entry that has no number, a notification that waits or is a dead letter.
    let notification: [UInt8]

    /// - Parameter entry: the ID, and the fields with their values. Unknown fields are passed over.
    init?(_ entry: RedisValue) {
        guard case .array(let parts) = entry, parts.count == 2, let id = parts[0].text,
            case .array(let fields) = parts[1]
        else { return nil }
        notification = fields.count > 1 ? fields[1].bytes ?? [] : []
        let number = fields.first?.text == "i" && fields.count > 1 ? fields[1].number : nil
        guard let position = EventPosition(id: id, number: UInt64(clamping: number ?? 0)) else { return nil }
        self.position = position
        sealed = fields.count > 3 ? fields[3].bytes ?? [] : []
    }
}

extension EventQuery {
    fileprivate var call: ScriptCall {
        let keys = NotificationKeys(partition)
        return ScriptCall(
            keys: [keys.totals, keys.log(stream), keys.erased(stream)], stream.rawValue, after.id, max(1, maximum),
            RedisEventLog.Limits.pageBytes, after.number, after.isOfEntry ? 1 : 0)
    }

    fileprivate func goingBack(_ time: Duration) -> EventQuery {
        let back = UInt64(clamping: time.wholeMilliseconds)
        var query = self
        query.after = .end(of: after.milliseconds - min(back, after.milliseconds), number: 0)
        return query
    }
}

// MARK: - Positions

extension RedisEventLog {
    func newest(_ partitions: [AppPartition], _ stream: EventStream) async -> [EventPosition]? {
        let commands = partitions.map { partition in
            RedisCommand("HGET", key: NotificationKeys(partition).totals, stream.lastField)
        }
        return try? await redis.replies(to: commands).map { $0.text.flatMap { EventPosition(text: $0) } ?? .start }
    }

    func event(
        at position: EventPosition, in partition: AppPartition, _ stream: EventStream
    ) async throws(StoreUnreachable) -> Event? {
        let log = NotificationKeys(partition).log(stream)
        let entry = try await entry(RedisCommand("XRANGE", key: log, position.id, position.id, "COUNT", 1))
        return entry.flatMap { event($0, partition, stream) }
    }

    func position(
        before milliseconds: UInt64, in partition: AppPartition, _ stream: EventStream
    ) async throws(StoreUnreachable) -> EventPosition {
        guard milliseconds > 0 else { return .start }
        let log = NotificationKeys(partition).log(stream)
        // An ID without a counter is the last of its millisecond.
        let command = RedisCommand("XREVRANGE", key: log, milliseconds - 1, "-", "COUNT", 1)
        return try await entry(command)?.position ?? .start
    }

    private func entry(_ command: RedisCommand) async throws(StoreUnreachable) -> EventEntry? {
        try await redis.list(command).first.flatMap { EventEntry($0) }
    }
}

extension EventStream {
    /// The field of the totals with the position of the newest entry.
    var lastField: String { rawValue + ":last" }
}

extension EventPosition {
    var id: String { "\(milliseconds)-\(counter)" }

    var text: String { "\(id)-\(number)" }

    init?(text: String) {
        guard let dash = text.lastIndex(of: "-"), let number = UInt64(text[text.index(after: dash)...]) else {
            return nil
        }
        self.init(id: text[..<dash], number: number)
    }

    /// Parses an entry's ID; nil for numbers over `Limits.number`, which only another writer to Redis can have stored.
    /// No cursor holds them.
    init?(id: some StringProtocol, number: UInt64) {
        let parts = id.split(separator: "-", omittingEmptySubsequences: false).map { UInt64($0) }
        guard parts.count == 2, let milliseconds = parts[0], let counter = parts[1],
            [milliseconds, counter, number].allSatisfy({ $0 <= Limits.number })
        else { return nil }
        self.init(milliseconds: milliseconds, counter: counter, number: number)
    }
}

// MARK: - The stored form

extension Event: StoredForm {
    /// Visits all fields but the app, which is the partition's app.
    package mutating func visitForm<Form: StoredFormVisitor>(_ form: inout Form) throws(Form.Failure) {
        // A newer version may have more types; its JSON says which type it is.
        var type = type.rawValue
        try form.version(1)
        try form.text(&id)
        try form.text(&type)
        try form.environment(&environment)
        try form.text(&originalTransactionID)
        try form.time(&occurredAt)
        try form.data(&json)
        try form.data(&signedData)
        self.type = EventType(rawValue: type) ?? .unknown
    }

    init(storedBytes: [UInt8], bundleID: String) throws(StoredFormFault) {
        self.init(
            id: "", type: .unknown, bundleID: bundleID, environment: .production, originalTransactionID: nil,
            occurredAt: .earliest, json: [])
        try read(storedBytes)
    }

    func sealed(_ keys: NotificationKeys, _ seal: StoreSeal) -> RedisWord {
        RedisWord(seal.seal(storedBytes, for: keys.sealedEventName))
    }

    init(sealed: [UInt8], _ keys: NotificationKeys, _ seal: StoreSeal, bundleID: String) throws(SharedCacheFault) {
        let bytes = try seal.open(sealed, for: keys.sealedEventName)
        guard let event = try? Event(storedBytes: bytes, bundleID: bundleID) else { throw .unreadable }
        self = event
    }
}
