// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import CHiredis
internal import NIOCore

/// Which rule a reply breaks.
enum ReplyFault: Error, Hashable {
    /// It is not RESP2.
    case malformed
    /// Its strings are longer than allowed, together, or it announces so.
    case tooManyBytes
    /// Its arrays have more elements than allowed, together, or announce so.
    case tooManyElements
    /// Too many arrays in arrays.
    case nestedTooDeep
    /// A line that does not end.
    case lineTooLong
    /// The system gives no memory.
    case noMemory
}

/// Reads replies from bytes that arrive in any pieces: the owner of one `redisReader`.
///
/// hiredis would allocate whatever `*100000000` announces and wait for all of `$1000000000`. Here it asks
/// `ReplyAssembly` before either, so that a reply costs what has arrived of it and never more than the limits.
///
/// SAFETY: hiredis calls back into this object only from `next`, which keeps it alive; the reader and the table of
/// callbacks it points to are freed once, with their owner, in this order.
@safe final class ReplyReader {
    private let reader: UnsafeMutablePointer<redisReader>
    private let callbacks: UnsafeMutablePointer<redisReplyObjectFunctions>
    /// What has been read of the current reply.
    fileprivate var assembly: ReplyAssembly

    /// A reader at the beginning of a reply.
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

    /// What an idle reader may keep of its buffer.
    private static let keptBytes = 256 << 10
    /// A status, an error, a number, or what announces a string or an array.
    static let maximumLineBytes = 64 << 10

    /// Takes bytes that arrived.
    func feed(_ bytes: ByteBufferView) throws(ReplyFault) {
        let code = unsafe bytes.withUnsafeBytes { bytes in
            unsafe redisReaderFeed(reader, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), bytes.count)
        }
        guard code == REDIS_OK else { throw .noMemory }
    }

    /// The next reply that has arrived whole; nil if none has. After an error there is nothing more to be read.
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

    /// hiredis stopped before something that is not complete. If its first line is, it is a string, for nothing else
    /// has more than a line: does that line announce too much?
    private func checkWhatIsMissing() throws(ReplyFault) {
        let (start, count) = unsafe (reader.pointee.pos, reader.pointee.len - reader.pointee.pos)
        guard count > 0, let buffer = unsafe reader.pointee.buf else { return }
        // SAFETY: hiredis keeps `len` bytes in `buf`, and `pos` is not beyond them; nothing is called meanwhile.
        let waiting = unsafe UnsafeRawBufferPointer(start: buffer + start, count: count)
        guard let end = unsafe Self.lineEnd(in: waiting) else {
            if count > Self.maximumLineBytes { throw .lineTooLong }
            return
        }
        guard let announced = unsafe Int(String(decoding: waiting[..<end], as: UTF8.self)) else { throw .malformed }
        guard assembly.hasRoom(forBytes: announced) else { throw .tooManyBytes }
    }

    /// Where the first CRLF stands; a CR alone ends no line, as for hiredis.
    private static func lineEnd(in bytes: UnsafeRawBufferPointer) -> Int? {
        bytes.indices.dropLast().first {
            unsafe bytes[$0] == UInt8(ascii: "\r") && bytes[$0 + 1] == UInt8(ascii: "\n")
        }
    }
}

// MARK: - What hiredis calls

/// What a callback returns must only not be nil: the value itself is kept by the assembly.
private func replyCallbacks() -> redisReplyObjectFunctions {
    var callbacks = redisReplyObjectFunctions()
    unsafe callbacks.createString = { task, text, count in
        unsafe assemble(task) { assembly in
            // SAFETY: hiredis lends `count` bytes for the time of the call.
            let bytes = unsafe UnsafeRawBufferPointer(start: text, count: count)
            return unsafe assembly.add(bytes, type: task?.pointee.type ?? 0)
        }
    }
    unsafe callbacks.createArray = { task, count in
        unsafe assemble(task) { $0.beginArray(count: Int(count)) }
    }
    unsafe callbacks.createInteger = { task, number in
        unsafe assemble(task) { $0.add(.integer(number)) }
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
    // SAFETY: the reader was given its owner, which is alive while `next` runs.
    let reader = unsafe Unmanaged<ReplyReader>.fromOpaque(owner).takeUnretainedValue()
    return unsafe step(&reader.assembly) ? owner : nil
}

extension ReplyAssembly {
    /// Adds what hiredis calls a string: the bytes of one, a status, or an error.
    fileprivate mutating func add(_ bytes: UnsafeRawBufferPointer, type: CInt) -> Bool {
        guard admit(bytes: bytes.count) else { return false }
        switch type {
        case REDIS_REPLY_STATUS: return unsafe add(.status(String(decoding: bytes, as: UTF8.self)))
        case REDIS_REPLY_ERROR: return unsafe add(.error(RedisRefusal(line: String(decoding: bytes, as: UTF8.self))))
        default: return unsafe add(.string(Array(bytes)))
        }
    }
}
