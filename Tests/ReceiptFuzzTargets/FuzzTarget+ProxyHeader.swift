// SPDX-License-Identifier: Apache-2.0

#if DEBUG || RECEIPT_FUZZING
    internal import NIOCore
    @testable internal import HTTPServer

    extension FuzzTarget {
        /// Checks that a header is the same in one piece and byte by byte, and that nothing behind it is read.
        static func checkProxyHeader(_ bytes: [UInt8]) throws {
            let whole = ProxyHeaderTrial.run(bytes, pieceBytes: max(1, bytes.count))
            let pieces = ProxyHeaderTrial.run(bytes, pieceBytes: 1)
            try expect(pieces == whole, "byte by byte: \(pieces); the whole: \(whole)")
            guard case .header(_, let length) = whole else { return }
            try expect((16...16 + ProxyHeader.Limits.length).contains(length), "a header of \(length) bytes")
            let more = ProxyHeaderTrial.run(Array(bytes.prefix(length)) + [0], pieceBytes: length + 1)
            try expect(more == whole, "another byte behind the header: \(more)")
        }
    }

    private enum ProxyHeaderTrial: Equatable {
        case incomplete
        case fault(ProxyHeader.Fault)
        case header(ProxyHeader, length: Int)

        static func run(_ bytes: [UInt8], pieceBytes: Int) -> ProxyHeaderTrial {
            var received = ByteBuffer(), sent = 0
            while sent < bytes.count {
                let piece = bytes[sent..<min(bytes.count, sent + pieceBytes)]
                received.writeBytes(piece)
                sent += piece.count
                do throws(ProxyHeader.Fault) {
                    guard let header = try ProxyHeader.read(from: &received) else { continue }
                    return .header(header, length: sent - received.readableBytes)
                } catch {
                    return .fault(error)
                }
            }
            return .incomplete
        }
    }
#endif
