// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// The body of an answer.
///
/// Answers that differ in their first bytes alone share the rest, and a part that stands in it twice is kept once: a
/// cached answer takes half the memory, and is written once.
package struct ReplyBody: Sendable {
    /// A part of `rest` that is sent again.
    package struct Repetition: Sendable {
        let part: Range<Int>
        /// The position in `rest` before which it is sent again, behind the part.
        let position: Int

        package init(of part: Range<Int>, at position: Int) {
            precondition(part.upperBound <= position)
            self.part = part
            self.position = position
        }
    }

    private let start: [UInt8]
    private let rest: [UInt8]
    private let repetition: Repetition?

    package init(start: [UInt8] = [], _ rest: [UInt8], repeating repetition: Repetition? = nil) {
        precondition(repetition.map { $0.position <= rest.count } ?? true)
        self.start = start
        self.rest = rest
        self.repetition = repetition
    }

    /// The number of bytes that are sent.
    package var count: Int { start.count + rest.count + (repetition?.part.count ?? 0) }

    package var bytes: [UInt8] {
        guard let repetition else { return start + rest }
        return start + rest[..<repetition.position] + rest[repetition.part] + rest[repetition.position...]
    }

    func write(to buffer: inout ByteBuffer) {
        buffer.writeBytes(start)
        guard let repetition else { return _ = buffer.writeBytes(rest) }
        buffer.writeBytes(rest[..<repetition.position])
        buffer.writeBytes(rest[repetition.part])
        buffer.writeBytes(rest[repetition.position...])
    }
}

// MARK: - In memory

extension ReplyBody {
    /// The same body in arrays of exactly its size.
    package var compact: ReplyBody { ReplyBody(start: start.compact, rest.compact, repeating: repetition) }

    /// The memory of a compact body.
    package var byteCount: Int { start.count + rest.count + 2 * Self.arrayHeaderBytes }

    /// The memory of an array beside its elements, rounded up as malloc does.
    private static let arrayHeaderBytes = 48
}

extension [UInt8] {
    var compact: [UInt8] {
        // A copy takes no more memory than it needs; an array that grew has up to twice as much.
        span.isEmpty ? [] : unsafe withUnsafeBufferPointer { unsafe Array($0) }
    }
}

extension ReplyBody: ExpressibleByArrayLiteral {
    package init(arrayLiteral elements: UInt8...) { self.init(elements) }
}
