// SPDX-License-Identifier: Apache-2.0

import ReceiptForge
import Testing
import TestSupport

@testable import LoadTest

/// Answers read from bytes that come as they like.
struct AnswerReaderTests {
    private static let verdict = #"{"verdict":"genuine","provenance":{"source":"local","cache":"near"}}"#

    /// Answers of a server, and what is kept of them: status, outcome, and the end of the connection.
    private static let conversations: [(text: String, answers: [LoadAnswer])] = [
        (
            "HTTP/1.1 200 OK\r\nContent-Length: \(verdict.utf8.count)\r\n\r\n" + verdict,
            [LoadAnswer(status: 200, outcome: .hitNear, isLast: false)]
        ),
        (
            "HTTP/1.1 429 Too Many Requests\r\ncontent-length:0\r\n\r\nHTTP/1.1 500 \r\nCONTENT-LENGTH: 2 \r\n\r\nno",
            [
                LoadAnswer(status: 429, outcome: .shed, isLast: false),
                LoadAnswer(status: 500, outcome: .error, isLast: false),
            ]
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n1a;x=y\r\n"
                + String(repeating: "z", count: 26) + "\r\n0\r\nTrailer: yes\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n",
            [
                LoadAnswer(status: 200, outcome: .ok, isLast: false),
                LoadAnswer(status: 204, outcome: .ok, isLast: false),
            ]
        ),
        (
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
                + "HTTP/1.1 404 Not Found\r\nContent-Length: 1\r\nConnection: Keep-Alive, close\r\n\r\nx",
            [LoadAnswer(status: 404, outcome: .refused, isLast: true)]
        ),
        (
            "HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nxHTTP/1.0 200 OK\r\nConnection: keep-alive\r\n"
                + "Content-Length: 1\r\n\r\nx",
            [LoadAnswer(status: 200, outcome: .ok, isLast: true), LoadAnswer(status: 200, outcome: .ok, isLast: false)]
        ),
        (
            "HTTP/1.1 200 OK\r\nCache-Status: edge; hit; ttl=3\r\nContent-Length: 0\r\n\r\n",
            [LoadAnswer(status: 200, outcome: .hitShared, isLast: false)]
        ),
    ]

    @Test(arguments: conversations, [Int.max, 1, 2, 3, 7, 64])
    func `answers are the same however their bytes are cut`(
        _ conversation: (text: String, answers: [LoadAnswer]), size: Int
    ) throws {
        #expect(try Self.read(conversation.text, inPiecesOf: size) == conversation.answers)
    }

    @Test func `a body without a length ends with its connection`() throws {
        var reader = AnswerReader()
        #expect(try Self.read("HTTP/1.1 200 OK\r\n\r\n" + Self.verdict, &reader) == [])
        #expect(try reader.end() == LoadAnswer(status: 200, outcome: .hitNear, isLast: true))
        #expect(try reader.end() == nil)
    }

    @Test(arguments: [
        "H", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab", "HTTP/1.1 100 Continue\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n",
    ])
    func `an answer that ends with its connection but says otherwise is none`(text: String) throws {
        var reader = AnswerReader()
        #expect(try Self.read(text, &reader) == [])
        #expect(throws: AnswerFault.truncated) { try reader.end() }
    }

    private static let faults: [(text: String, fault: AnswerFault)] = [
        ("ICY 200 OK\r\n", .malformedStatusLine), ("HTTP/2 200 OK\r\n", .malformedStatusLine),
        ("HTTP/1.2 200 OK\r\n", .malformedStatusLine), ("HTTP/1.1 20 OK\r\n", .malformedStatusLine),
        ("HTTP/1.1 200OK\r\n", .malformedStatusLine), ("HTTP/1.1 999 Odd\r\n", .malformedStatusLine),
        ("HTTP/1.1 200 OK\n", .bareLineFeed), ("\r\nHTTP/1.1 200 OK\r\n", .malformedStatusLine),
        ("HTTP/1.1 101 Switching Protocols\r\n\r\n", .switchedProtocol),
        ("HTTP/1.1 200 OK\r\nno colon\r\n", .malformedField), ("HTTP/1.1 200 OK\r\n: empty\r\n", .malformedField),
        ("HTTP/1.1 200 OK\r\nName : value\r\n", .malformedField),
        ("HTTP/1.1 200 OK\r\nA: b\r\n folded\r\n", .malformedField),
        ("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n", .malformedLength),
        ("HTTP/1.1 200 OK\r\nContent-Length:\r\n", .malformedLength),
        ("HTTP/1.1 200 OK\r\nContent-Length: 0x10\r\n", .malformedLength),
        ("HTTP/1.1 200 OK\r\nContent-Length: 1, 1\r\n", .malformedLength),
        ("HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n", .malformedLength),
        ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n", .malformedLength),
        ("HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n", .bodyTooLarge),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n", .unknownCoding),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", .unknownCoding),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n", .lengthAndCoding),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\r\n", .malformedChunk),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5x\r\n", .malformedChunk),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n", .malformedChunk),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n", .bodyTooLarge),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nno colon\r\n", .malformedField),
    ]

    @Test(arguments: faults)
    func `what breaks a rule is refused by its name`(text: String, fault: AnswerFault) {
        for size in [Int.max, 1] {
            #expect(throws: fault, "\(size)") { try Self.read(text, inPiecesOf: size) }
        }
    }

    // MARK: - Limits

    private static let small = AnswerLimits(
        maximumHeadBytes: 60, maximumLineBytes: 30, maximumBodyBytes: 10, maximumInterimAnswers: 2, openingBytes: 4)

    private static let bounded: [(text: String, fault: AnswerFault?)] = [
        ("HTTP/1.1 200 OK\r\nA: " + String(repeating: "b", count: 26), nil),
        ("HTTP/1.1 200 OK\r\nA: " + String(repeating: "b", count: 28), .headTooLarge),
        ("HTTP/1.1 200 OK\r\n" + String(repeating: "A: bcdefgh\r\n", count: 3), nil),
        ("HTTP/1.1 200 OK\r\n" + String(repeating: "A: bcdefgh\r\n", count: 4), .headTooLarge),
        ("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n", nil),
        ("HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n", .bodyTooLarge),
        ("HTTP/1.1 200 OK\r\n\r\n0123456789", nil),
        ("HTTP/1.1 200 OK\r\n\r\n01234567890", .bodyTooLarge),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n01234\r\n5\r\n56789\r\n", nil),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n01234\r\n6\r\n567890\r\n", .bodyTooLarge),
        (String(repeating: "HTTP/1.1 100 Continue\r\n\r\n", count: 2), nil),
        (String(repeating: "HTTP/1.1 100 Continue\r\n\r\n", count: 3), .tooManyInterimAnswers),
    ]

    @Test(arguments: bounded)
    func `nothing is read beyond its limit`(text: String, fault: AnswerFault?) throws {
        for size in [Int.max, 1] {
            if let fault {
                #expect(throws: fault) { try Self.read(text, inPiecesOf: size, Self.small) }
            } else {
                _ = try Self.read(text, inPiecesOf: size, Self.small)
            }
        }
    }

    @Test func `random bytes are refused or need more, and never crash`() {
        var generator = SplitMix64(seed: TestSeed.number(0))
        let template = Array("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n".utf8)
        for _ in 0..<3000 {
            var bytes = template
            for _ in 0..<3 {
                let place = Int.random(in: 0..<bytes.count, using: &generator)
                bytes[place] = .random(in: 0...255, using: &generator)
            }
            var reader = AnswerReader(), position = 0
            _ = try? reader.next(bytes.span, &position)
            #expect(position <= bytes.count)
        }
    }

    private static func read(
        _ text: String, inPiecesOf size: Int, _ limits: AnswerLimits = AnswerLimits()
    ) throws(AnswerFault) -> [LoadAnswer] {
        var reader = AnswerReader(limits: limits)
        return try read(text, inPiecesOf: size, &reader)
    }

    private static func read(
        _ text: String, inPiecesOf size: Int = .max, _ reader: inout AnswerReader
    ) throws(AnswerFault) -> [LoadAnswer] {
        let bytes = Array(text.utf8)
        var answers: [LoadAnswer] = [], start = 0
        while start < bytes.count {
            let piece = Array(bytes[start..<min(bytes.count, start + min(size, bytes.count))])
            var position = 0
            while let answer = try reader.next(piece.span, &position) { answers.append(answer) }
            start += piece.count
        }
        return answers
    }
}
