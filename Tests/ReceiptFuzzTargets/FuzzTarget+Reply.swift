// SPDX-License-Identifier: Apache-2.0

#if DEBUG || RECEIPT_FUZZING
    internal import NIOCore
    @testable internal import Redis

    extension FuzzTarget {
        /// Checks that Redis replies are the same in any pieces, and within their limits.
        static func checkReply(_ bytes: [UInt8]) throws {
            let whole = try ReadReplies(bytes, pieceBytes: max(bytes.count, 1))
            for pieceBytes in [1, 7] {
                let pieces = try ReadReplies(bytes, pieceBytes: pieceBytes)
                try expect(pieces == whole, "pieces of \(pieceBytes) are \(pieces), the whole is \(whole)")
            }
            for reply in whole.replies { try reply.checkLimits() }
        }
    }

    private enum ReplyLimits {
        static let bytes = 1024, elements = 64, nesting = 4

        static var all: RedisNodeConfiguration.Limits {
            var limits = RedisNodeConfiguration.Limits()
            (limits.maximumReplyBytes, limits.maximumReplyElements, limits.maximumReplyNesting) = (
                bytes, elements, nesting
            )
            return limits
        }
    }

    /// The replies in some bytes, and the fault that ends them.
    private struct ReadReplies: Equatable {
        private(set) var replies: [RedisValue] = []
        private(set) var fault: ReplyFault?

        init(_ bytes: [UInt8], pieceBytes: Int) throws {
            let reader = try ReplyReader(limits: ReplyLimits.all)
            var buffer = ByteBuffer(bytes: bytes)
            do throws(ReplyFault) {
                while let piece = buffer.readSlice(length: min(pieceBytes, buffer.readableBytes)),
                    piece.readableBytes > 0
                {
                    try reader.feed(piece.readableBytesView)
                    while let reply = try reader.next() { replies.append(reply) }
                }
            } catch {
                fault = error
            }
        }
    }

    extension RedisValue {
        fileprivate func checkLimits() throws {
            try expect(stringBytes <= ReplyLimits.bytes, "a reply of \(stringBytes) bytes")
            try expect(elementCount <= ReplyLimits.elements, "a reply of \(elementCount) elements")
            try expect(nesting <= ReplyLimits.nesting, "arrays nested \(nesting) deep")
        }

        private var elements: [RedisValue] {
            if case .array(let elements) = self { elements } else { [] }
        }

        private var elementCount: Int { elements.reduce(elements.count) { $0 + $1.elementCount } }

        private var nesting: Int {
            if case .array(let elements) = self { 1 + (elements.map(\.nesting).max() ?? 0) } else { 0 }
        }

        private var stringBytes: Int {
            if case .string(let bytes) = self { return bytes.count }
            return elements.reduce(0) { $0 + $1.stringBytes }
        }
    }
#endif
