// SPDX-License-Identifier: Apache-2.0

internal import Receipts

/// The position of a reader in the logs of its apps. As text it is opaque to clients: base64url of
///
/// ```
/// cursor     = version *app           ; the apps in the order of their bundle IDs
/// app        = length bundle-id partitions 1*8position
/// length     = 1 byte
/// partitions = 1 byte                 ; bit n is set if partition n has a position
/// position   = milliseconds counter number   ; each LEB128, at most 2^53
/// ```
package struct EventCursor: Hashable, Sendable {
    package enum Limits {
        /// The maximum length of the text: sixteen apps with long names fit into it, and it fits into the target of a
        /// request (`HTTPLimits.target`).
        static let textBytes = 8000
        static let apps = EventReader.Limits.apps
    }

    private static let version: UInt8 = 1

    private var positions: [AppPartition: EventPosition] = [:]

    /// Creates the cursor before the oldest event of every app.
    package init() {}

    /// The position in a partition; the start if the cursor has none.
    package subscript(partition: AppPartition) -> EventPosition {
        get { positions[partition] ?? .start }
        set { positions[partition] = newValue == .start ? nil : newValue }
    }

    package var apps: Set<String> { Set(positions.keys.map(\.bundleID)) }

    // MARK: - Text

    /// Reads a cursor; nil for any text that no cursor has.
    package init?(text: String) {
        guard text.utf8.count <= Limits.textBytes, let bytes = Base64URLDecoder.decode(Array(text.utf8).span) else {
            return nil
        }
        var reader = CursorBytes(rest: bytes[...])
        guard reader.byte() == Self.version else { return nil }
        while !reader.isAtEnd {
            guard let app = reader.app(), apps.count < Limits.apps else { return nil }
            for (partition, position) in app { self[partition] = position }
        }
        // One cursor has one text: no app twice, no number in a longer form than needed, no position at the start.
        guard self.text == text else { return nil }
    }

    package var text: String {
        var bytes = [Self.version]
        for app in apps.sorted() {
            let known = AppPartition.all(of: app).filter { positions[$0] != nil }
            bytes += [UInt8(truncatingIfNeeded: app.utf8.count)] + Array(app.utf8)
            bytes.append(known.reduce(0) { $0 | 1 << UInt8($1.number) })
            for partition in known { bytes.append(self[partition]) }
        }
        return Base64.encodeURL(bytes)
    }
}

extension [UInt8] {
    fileprivate mutating func append(_ position: EventPosition) {
        for number in [position.milliseconds, position.counter, position.number] { append(leb128: number) }
    }

    private mutating func append(leb128 number: UInt64) {
        var rest = number
        while rest > 0x7F {
            append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        append(UInt8(rest))
    }
}

private struct CursorBytes {
    var rest: ArraySlice<UInt8>

    var isAtEnd: Bool { rest.isEmpty }

    mutating func byte() -> UInt8? { rest.popFirst() }

    mutating func app() -> [AppPartition: EventPosition]? {
        guard let bundleID = text(), let partitions = byte(), partitions != 0 else { return nil }
        var positions: [AppPartition: EventPosition] = [:]
        for partition in AppPartition.all(of: bundleID) where partitions & 1 << UInt8(partition.number) != 0 {
            guard let position = position() else { return nil }
            positions[partition] = position
        }
        return positions
    }

    private mutating func text() -> String? {
        guard let length = byte().map({ Int($0) }), rest.count >= length else { return nil }
        defer { rest = rest.dropFirst(length) }
        return String(decoding: rest.prefix(length), as: UTF8.self)
    }

    private mutating func position() -> EventPosition? {
        guard let milliseconds = number(), let counter = number(), let number = number() else { return nil }
        return EventPosition(milliseconds: milliseconds, counter: counter, number: number)
    }

    private mutating func number() -> UInt64? {
        var number: UInt64 = 0
        for shift in stride(from: UInt64(0), to: 63, by: 7) {
            guard let byte = byte() else { return nil }
            number |= UInt64(byte & 0x7F) << shift
            if byte & 0x80 == 0 { return number <= EventPosition.Limits.number ? number : nil }
        }
        return nil
    }
}
