// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import ReceiptForge

struct ReceiptPools: Sendable {
    var repeated: [PooledRequest] = []
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
    private var fresh: InTurn<PooledRequest>
    private var nearExpiry: InTurn<PooledRequest>
    private var notifications: InTurn<ByteBuffer>

    init(
        _ pools: ReceiptPools, _ mix: RequestMix, _ popularity: KeyPopularity, worker: Int, of workers: Int,
        seed: UInt64, freshBefore: Int = 0, notificationsBefore: Int = 0
    ) {
        self.pools = pools
        self.mix = mix
        self.popularity = popularity
        generator = SplitMix64(seed: seed, purpose: "requests of worker \(worker)")
        fresh = InTurn(pools.fresh, worker: worker, of: workers, after: freshBefore)
        nearExpiry = InTurn(pools.nearExpiry, worker: worker, of: workers)
        notifications = InTurn(pools.notifications, worker: worker, of: workers, after: notificationsBefore)
    }

    mutating func next() -> ByteBuffer {
        let kind = mix.kind(at: generator.fraction())
        switch kind {
        case .repeated: return popular().bytes
        case .fresh: return fresh.next().bytes
        case .nearExpiry: return nearExpiry.next().bytes
        case .notification: return notifications.next()
        case .duplicateNotification:
            // The first time it is a new notification.
            return notifications.taken(at: generator.fraction()) ?? notifications.next()
        case .malformed: return malformed(popular())
        case .forged: return forged(popular())
        case .signed, .customerReceipt, .verifyReceipt, .knownID, .unknownID:
            return pools.customers?.next(kind, using: &generator) ?? popular().bytes
        }
    }

    private mutating func popular() -> PooledRequest {
        pools.repeated[popularity.key(at: generator.fraction())]
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
