// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import CHiredis
internal import NIOCore

/// One command in RESP (an array of bulk strings): the owner of the text made by hiredis.
///
/// SAFETY: hiredis copies the words; its text is freed once, with its owner, and only copies leave this type.
@safe struct FormattedCommand: ~Copyable {
    private let text: UnsafeMutablePointer<CChar>
    private let count: Int

    /// Formats a command; nil without words, to which Redis would not reply, or if memory is short.
    init?(_ words: [RedisWord]) {
        guard !words.isEmpty else { return nil }
        let lengths = words.map { $0.bytes.count }
        var joined: [UInt8] = []
        joined.reserveCapacity(lengths.reduce(1, +))
        for word in words { joined.append(contentsOf: word.bytes) }
        // So that the words have an address even if all are empty.
        joined.append(0)
        var text: UnsafeMutablePointer<CChar>?
        let count = unsafe joined.withUnsafeBytes { bytes in
            var arguments = unsafe Self.pointers(into: bytes, lengths)
            return unsafe redisFormatCommandArgv(&text, CInt(lengths.count), &arguments, lengths)
        }
        guard count > 0, let text = unsafe text else { return nil }
        unsafe self.text = text
        self.count = Int(count)
    }

    deinit { unsafe redisFreeCommand(text) }

    func write(to buffer: inout ByteBuffer) {
        _ = unsafe buffer.writeBytes(UnsafeRawBufferPointer(start: text, count: count))
    }

    private static func pointers(into bytes: UnsafeRawBufferPointer, _ lengths: [Int]) -> [UnsafePointer<CChar>?] {
        var rest = unsafe bytes.bindMemory(to: CChar.self).baseAddress
        return unsafe lengths.map { length in
            defer { unsafe rest = rest.map { unsafe $0 + length } }
            return unsafe rest
        }
    }
}

extension ByteBuffer {
    /// Writes the commands in order; nil if a command cannot be sent.
    init?(commands: [RedisCommand]) {
        self.init()
        for command in commands {
            guard let formatted = FormattedCommand(command.words) else { return nil }
            formatted.write(to: &self)
        }
    }
}
