// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import ReceiptForge

struct ReceiptPools: Sendable {
    var repeated: [PooledRequest]
    /// Requests that are sent once each, as long as there are some.
    var fresh: [PooledRequest] = []
    var nearExpiry: [PooledRequest] = []
    var customers: CustomerPools?
    /// Notifications in the order of signing, which are sent once each, as long as there are some.
    var notifications: [ByteBuffer] = []
}

/// A whole request, and the range of its receipt.
struct PooledRequest: Sendable {
    let bytes: ByteBuffer
    let receipt: Range<Int>
}

extension PooledRequest {
    init(_ receipt: String, _ form: RequestForm) {
        bytes = form.request(receipt)
        self.receipt = form.receiptRange(in: bytes, receiptBytes: receipt.utf8.count)
    }
}

/// The requests of one worker about receipts and customers; they follow from the seed and the worker's number alone.
struct ReceiptTraffic: LoadTraffic {
    private let pools: ReceiptPools
    private let mix: RequestMix
    private let popularity: KeyPopularity
    private var generator: SplitMix64
    private var nextFresh: Int
    private var nextNearExpiry: Int
    private var nextNotification: Int
    private let firstNotification: Int
    private let workers: Int

    /// - Parameters:
    ///   - freshBefore: the number of fresh receipts that were sent before.
    ///   - notificationsBefore: the number of notifications that were sent before.
    init(
        _ pools: ReceiptPools, _ mix: RequestMix, _ popularity: KeyPopularity, worker: Int, of workers: Int,
        seed: UInt64, freshBefore: Int = 0, notificationsBefore: Int = 0
    ) {
        self.pools = pools
        self.mix = mix
        self.popularity = popularity
        self.workers = workers
        generator = SplitMix64(seed: seed, purpose: "requests of worker \(worker)")
        nextFresh = freshBefore + worker
        nextNearExpiry = worker
        firstNotification = notificationsBefore + worker
        nextNotification = firstNotification
    }

    mutating func next() -> ByteBuffer {
        let kind = mix.kind(at: generator.fraction())
        switch kind {
        case .repeated: return popular().bytes
        case .fresh: return Self.take(pools.fresh, &nextFresh, workers).bytes
        case .nearExpiry: return Self.take(pools.nearExpiry, &nextNearExpiry, workers).bytes
        case .notification: return Self.take(pools.notifications, &nextNotification, workers)
        case .duplicateNotification: return duplicateNotification()
        case .malformed: return malformed(popular())
        case .forged: return forged(popular())
        case .signed, .customerReceipt, .verifyReceipt, .knownID, .unknownID:
            return pools.customers?.next(kind, using: &generator) ?? popular().bytes
        }
    }

    private mutating func popular() -> PooledRequest {
        pools.repeated[popularity.key(at: generator.fraction())]
    }

    /// Takes the next; workers take turns, and begin again at the end.
    private static func take<Request>(_ pool: [Request], _ next: inout Int, _ workers: Int) -> Request {
        defer { next += workers }
        return pool[next % pool.count]
    }

    /// Returns a notification that this worker sent; the first time, a new notification.
    private mutating func duplicateNotification() -> ByteBuffer {
        let sent = (nextNotification - firstNotification) / workers
        guard sent > 0 else { return Self.take(pools.notifications, &nextNotification, workers) }
        let number = firstNotification + workers * Int(generator.fraction() * Double(sent))
        return pools.notifications[number % pools.notifications.count]
    }

    /// Replaces letters in the middle of the signature, which is the end of a receipt.
    private mutating func forged(_ request: PooledRequest) -> ByteBuffer {
        replace(request, at: request.receipt.upperBound - Self.signatureLetters / 2, count: 12)
    }

    /// Damages either the outermost length or the alphabet of base64.
    private mutating func malformed(_ request: PooledRequest) -> ByteBuffer {
        guard generator.fraction() < 0.5 else { return replace(request, at: request.receipt.lowerBound + 2, count: 4) }
        var bytes = request.bytes
        let place = request.receipt.lowerBound + Int(generator.fraction() * Double(request.receipt.count))
        bytes.setInteger(UInt8(ascii: "!"), at: place)
        return bytes
    }

    private mutating func replace(_ request: PooledRequest, at start: Int, count: Int) -> ByteBuffer {
        var bytes = request.bytes
        var chance = generator.next() | generator.next() << 32
        for place in start..<start + count {
            bytes.setInteger(UInt8(ascii: "a") + UInt8(truncatingIfNeeded: chance % 26), at: place)
            chance /= 26
        }
        return bytes
    }

    /// 256 bytes in base64.
    private static let signatureLetters = 344
}
