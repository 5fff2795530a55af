// SPDX-License-Identifier: Apache-2.0

internal import CHiredis
internal import NIOCore

enum ReplyFault: Error, Hashable {
    /// The reply is not RESP2.
    case malformed
    /// Its strings together are longer than the limit, or announced to be.
    case tooManyBytes
    /// Its arrays together have more elements than the limit, or announce more.
    case tooManyElements
    case nestedTooDeep
    case lineTooLong
    case noMemory
}

/// Reads replies from bytes in pieces of any size: the owner of one `redisReader`.
///
/// hiredis would allocate all that `*100000000` announces, and wait for all of `$1000000000`. `ReplyAssembly` is
/// consulted before either: a reply takes the memory of its received bytes, within the limits.
///
/// SAFETY: hiredis calls back into this object only from `next`, which keeps it alive. The reader, then the table of
/// callbacks that it points to, are freed once, with their owner.
@safe final class ReplyReader {
    private let reader: UnsafeMutablePointer<redisReader>
    private let callbacks: UnsafeMutablePointer<redisReplyObjectFunctions>
    fileprivate var assembly: ReplyAssembly

    init(limits: RedisNodeConfiguration.Limits) throws(ReplyFault) {
        assembly = ReplyAssembly(limits: limits)
        unsafe callbacks = .allocate(capacity: 1)
        unsafe callbacks.initialize(to: replyCallbacks())
        guard let reader = unsafe redisReaderCreateWithFunctions(callbacks) else {
            unsafe callbacks.deallocate()
            throw .noMemory
        }
        unsafe self.reader = reader
        unsafe reader.pointee.privdata = Unmanaged.passUnretained(self).toOpaque()
        unsafe reader.pointee.maxbuf = Self.keptBytes
    }

    deinit {
        unsafe redisReaderFree(reader)
        unsafe callbacks.deallocate()
    }

    private static let keptBytes = 256 << 10
    /// The maximum line: a status, an error, a number, or the head of a string or an array. It is searched for its end with
    /// each piece that arrives, so a server that sends single bytes must not make it long.
    static let maximumLineBytes = 4 << 10

    func feed(_ bytes: ByteBufferView) throws(ReplyFault) {
        let code = unsafe bytes.withUnsafeBytes { bytes in
            unsafe redisReaderFeed(reader, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), bytes.count)
        }
        guard code == REDIS_OK else { throw .noMemory }
    }

    /// Returns the next complete reply; nil if there is none. After an error nothing more can be read.
    func next() throws(ReplyFault) -> RedisValue? {
        var reply: UnsafeMutableRawPointer?
        let code = unsafe redisReaderGetReply(reader, &reply)
        if let fault = assembly.fault { throw fault }
        guard code == REDIS_OK else { throw .malformed }
        guard unsafe reply != nil else {
            try checkWhatIsMissing()
            return nil
        }
        guard let value = assembly.take() else { throw .malformed }
        return value
    }

    /// Checks an incomplete reply. If its first line is complete, it is a string, because only strings have more: the
    /// length in that line must be within the limit.
    private func checkWhatIsMissing() throws(ReplyFault) {
        let (start, count) = unsafe (reader.pointee.pos, reader.pointee.len - reader.pointee.pos)
        guard count > 0, let buffer = unsafe reader.pointee.buf else { return }
        // SAFETY: hiredis keeps `len` bytes in `buf`, with `pos` inside them; nothing is called meanwhile.
        let waiting = unsafe UnsafeRawBufferPointer(start: buffer + start, count: count)
        guard let end = unsafe Self.lineEnd(in: waiting) else {
            if count > Self.maximumLineBytes { throw .lineTooLong }
            return
        }
        guard let announced = unsafe Int(String(decoding: waiting[..<end], as: UTF8.self)) else { throw .malformed }
        guard assembly.hasRoom(forBytes: announced) else { throw .tooManyBytes }
    }

    /// Returns the position of the first CRLF; as in hiredis, a CR alone ends no line.
    private static func lineEnd(in bytes: UnsafeRawBufferPointer) -> Int? {
        bytes.indices.dropLast().first {
            unsafe bytes[$0] == UInt8(ascii: "\r") && bytes[$0 + 1] == UInt8(ascii: "\n")
        }
    }
}

// MARK: - Callbacks of hiredis

/// A callback must not return nil; the value itself is kept by the assembly.
private func replyCallbacks() -> redisReplyObjectFunctions {
    var callbacks = redisReplyObjectFunctions()
    unsafe callbacks.createString = { task, text, count in
        unsafe assemble(task) { assembly in
            // SAFETY: `count` bytes are valid during the call.
            let bytes = unsafe UnsafeRawBufferPointer(start: text, count: count)
            return unsafe assembly.add(bytes, type: task?.pointee.type ?? 0)
        }
    }
    unsafe callbacks.createArray = { task, count in
        unsafe assemble(task) { $0.beginArray(count: Int(count)) }
    }
    unsafe callbacks.createInteger = { task, number in
        unsafe assemble(task) { $0.add(.integer(Int64(number).clampedLikeReplies)) }
    }
    unsafe callbacks.createNil = { task in
        unsafe assemble(task) { $0.add(.null) }
    }
    unsafe callbacks.freeObject = { _ in }
    return callbacks
}

private func assemble(
    _ task: UnsafePointer<redisReadTask>?, _ step: (inout ReplyAssembly) -> Bool
) -> UnsafeMutableRawPointer? {
    guard let owner = unsafe task?.pointee.privdata else { return nil }
    // SAFETY: `privdata` is the reader's owner, which is alive while `next` runs.
    let reader = unsafe Unmanaged<ReplyReader>.fromOpaque(owner).takeUnretainedValue()
    return unsafe step(&reader.assembly) ? owner : nil
}

extension ReplyAssembly {
    /// Adds a string of hiredis: a bulk string, a status, or an error.
    fileprivate mutating func add(_ bytes: UnsafeRawBufferPointer, type: CInt) -> Bool {
        guard admit(bytes: bytes.count) else { return false }
        let isLine = type == REDIS_REPLY_STATUS || type == REDIS_REPLY_ERROR
        guard !isLine || bytes.count <= ReplyReader.maximumLineBytes else { return fail(.lineTooLong) }
        switch type {
        case REDIS_REPLY_STATUS: return unsafe add(.status(Self.line(bytes)))
        case REDIS_REPLY_ERROR: return unsafe add(.error(RedisRefusal(line: Self.line(bytes))))
        default: return unsafe add(.string(Array(bytes)))
        }
    }

    /// Returns the beginning of a line as ASCII; Redis writes no other characters.
    private static func line(_ bytes: UnsafeRawBufferPointer) -> String {
        let visible = unsafe bytes.prefix(RedisValue.Limits.lineBytes).map { $0 < 0x80 ? $0 : UInt8(ascii: "?") }
        return String(decoding: visible, as: UTF8.self)
    }
}

/// One reply that is being read in parts, within limits.
struct ReplyAssembly {
    private struct OpenArray {
        var missing: Int
        var elements: [RedisValue] = []
    }

    private let limits: RedisNodeConfiguration.Limits
    private var open: [OpenArray] = []
    private var finished: RedisValue?
    private var bytes = 0
    private var elements = 0
    private(set) var fault: ReplyFault?

    init(limits: RedisNodeConfiguration.Limits) { self.limits = limits }

    func hasRoom(forBytes count: Int) -> Bool {
        count <= limits.maximumReplyBytes - bytes
    }

    /// Counts a string; false if it exceeds the limit.
    mutating func admit(bytes count: Int) -> Bool {
        guard hasRoom(forBytes: count) else { return fail(.tooManyBytes) }
        bytes += count
        return true
    }

    /// Begins an array; false if it exceeds a limit. Allocates nothing for announced elements.
    mutating func beginArray(count: Int) -> Bool {
        guard count <= limits.maximumReplyElements - elements else { return fail(.tooManyElements) }
        guard open.count < limits.maximumReplyNesting else { return fail(.nestedTooDeep) }
        elements += count
        guard count > 0 else { return add(.array([])) }
        open.append(OpenArray(missing: count))
        return true
    }

    /// Adds a value, and closes the arrays that it completes. Always true.
    mutating func add(_ value: RedisValue) -> Bool {
        var value = value
        while let last = open.indices.last {
            open[last].elements.append(value)
            open[last].missing -= 1
            guard open[last].missing == 0 else { return true }
            value = .array(open[last].elements)
            open.removeLast()
        }
        finished = value
        return true
    }

    /// Returns the reply if it is complete, and begins the next reply.
    mutating func take() -> RedisValue? {
        defer { (finished, bytes, elements) = (nil, 0, 0) }
        return finished
    }

    private mutating func fail(_ fault: ReplyFault) -> Bool {
        self.fault = self.fault ?? fault
        return false
    }
}
