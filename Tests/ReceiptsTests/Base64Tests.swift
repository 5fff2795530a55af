// SPDX-License-Identifier: Apache-2.0

import CIntrinsics
import Foundation
import Glibc
import ReceiptForge
import Receipts
import Testing
import TestSupport

struct Base64Tests {
    @Test(
        arguments: [
            ("", .empty, 0), (" \t\r\n", .empty, 4),
            ("A", .missingPadding, 1), ("AA", .missingPadding, 2), ("AAA", .missingPadding, 3),
            ("AA=", .missingPadding, 3), ("AAAAA", .missingPadding, 5), ("AAAAAA", .missingPadding, 6),
            ("AAAA AA A", .missingPadding, 9), ("AA= ", .missingPadding, 4),
            ("=", .trailingData, 0), ("====", .trailingData, 0), ("A===", .trailingData, 1), (" A=", .trailingData, 2),
            ("AAAA=", .trailingData, 4), ("AA=A", .trailingData, 3), ("AA==A", .trailingData, 4),
            ("AA===", .trailingData, 4), ("AAA=\n=", .trailingData, 5), ("AA==AAAA", .trailingData, 4),
            ("AAA=AAAAAAAA", .trailingData, 4), ("AA== !", .trailingData, 5),
            ("AB==", .nonCanonicalBits, 1), ("AP==", .nonCanonicalBits, 1), ("AAB=", .nonCanonicalBits, 2),
            ("AAD=", .nonCanonicalBits, 2), ("AAAAAB==", .nonCanonicalBits, 5), ("A B\n=\n=", .nonCanonicalBits, 2),
            ("-AAA", .urlAlphabet, 0), ("AAA_", .urlAlphabet, 3), ("AAAAAAA-", .urlAlphabet, 7),
            ("A_", .urlAlphabet, 1),
            ("!AAA", .invalidCharacter, 0), ("AAAA.AAA", .invalidCharacter, 4), ("AAA\u{0}", .invalidCharacter, 3),
            ("AA=!", .invalidCharacter, 3), ("AAAé", .invalidCharacter, 3), ("AAAA\u{B}", .invalidCharacter, 4),
        ] as [(String, Base64Error.Fault, Int)])
    func `each fault is named, with its position`(text: String, fault: Base64Error.Fault, position: Int) {
        #expect { try Base64.decode(text) } throws: { error in
            let error = error as? Base64Error
            return error?.fault == fault && error?.position == position
        }
    }

    /// Uses two full groups and a last one, so that fast and careful paths both see every byte at every position.
    @Test(arguments: 0..<12) func `every byte at every place gets the answer its kind gets`(place: Int) {
        for byte in UInt8.min...UInt8.max {
            var text = Array("AAAAAAAAAAAA".utf8)
            text[place] = byte
            #expect(Outcome(decoding: text) == .expected(of: byte, at: place), "byte \(byte)")
        }
    }

    /// Uses several blocks of 32 characters and a last one, as processors with AVX2 decode them.
    @Test(arguments: 0..<100) func `every byte at every place of a long text gets the answer its kind gets`(
        place: Int
    ) {
        for byte in UInt8.min...UInt8.max {
            var text = [UInt8](repeating: UInt8(ascii: "A"), count: 100)
            text[place] = byte
            let outcome = Outcome(decoding: text), expected = Outcome.expected(of: byte, at: place, count: 100)
            #expect(outcome == expected, "byte \(byte)")
        }
    }

    /// The pages behind the text and behind the output end the process that touches them.
    @Test(.enabled(if: Base64_has_avx2())) func `blocks are decoded within their memory`() throws {
        let input = try GuardedPage(), output = try GuardedPage()
        for count in 0...200 {
            let whole = max(0, count - 12) / 32 * 32
            let text = unsafe input.end - count, bytes = unsafe output.end - count / 4 * 3
            unsafe text.initialize(repeating: UInt8(ascii: "/"), count: count)
            let read = unsafe Base64_decode_avx2(text, count, bytes)
            let areDecoded = (0..<whole / 4 * 3).allSatisfy { unsafe bytes[$0] == 0xFF }
            #expect(read == whole && areDecoded, "\(count) characters")
        }
    }

    private enum Outcome: Equatable {
        case bytes(Int)
        case fault(Base64Error.Fault, Int)

        init(decoding text: [UInt8]) {
            do throws(Base64Error) {
                self = .bytes(try Base64.decode(text.span).count)
            } catch {
                self = .fault(error.fault, error.position)
            }
        }

        static func expected(of byte: UInt8, at place: Int, count: Int = 12) -> Outcome {
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "/"):
                .bytes(count / 4 * 3)
            case 0x20, 0x09, 0x0D, 0x0A: .fault(.missingPadding, count)
            case UInt8(ascii: "-"), UInt8(ascii: "_"): .fault(.urlAlphabet, place)
            case UInt8(ascii: "="):
                place == count - 1
                    ? .bytes(count / 4 * 3 - 1) : .fault(.trailingData, place % 4 < 2 ? place : place + 1)
            default: .fault(.invalidCharacter, place)
            }
        }
    }

    @Test func `what Foundation encodes is decoded, at every length`() throws {
        var generator = SplitMix64(seed: TestSeed.number(64))
        for length in 1...600 {
            let bytes = (0..<length).map { _ in UInt8.random(in: 0...255, using: &generator) }
            #expect(try Base64.decode(Data(bytes).base64EncodedString()) == bytes, "\(length) bytes")
        }
    }

    @Test func `what Foundation breaks into lines is decoded`() throws {
        let bytes = (0..<1000).map { UInt8(truncatingIfNeeded: $0) }
        let endings: [Data.Base64EncodingOptions] = [
            [.endLineWithLineFeed], [.endLineWithCarriageReturn], [.endLineWithCarriageReturn, .endLineWithLineFeed],
        ]
        for ending in endings {
            let text = Data(bytes).base64EncodedString(options: ending.union(.lineLength76Characters))
            #expect(text.utf8.contains { $0 == 0x0A || $0 == 0x0D })
            #expect(try Base64.decode(text) == bytes)
        }
    }

    @Test(arguments: ["QUJDREVGRw==", "QUJDREVGR0g=", "QUJDREVGR0hJ"])
    func `white space may stand anywhere`(text: String) throws {
        let bytes = try Base64.decode(text)
        for position in 0...text.utf8.count {
            for space in [" ", "\t", "\r\n", "    ", "\n\n\n\n\n"] {
                let start = text.utf8.index(text.startIndex, offsetBy: position)
                let spaced = text[..<start] + space + text[start...]
                #expect(try Base64.decode(String(spaced)) == bytes, "\(space.utf8.count) at \(position)")
            }
        }
    }

    /// Tries every text of up to five characters over an alphabet with one character of each kind. Accepted are exactly
    /// those that, white space aside, Foundation would have written for the same bytes.
    @Test func `exactly one text is accepted for each sequence of bytes`() {
        let alphabet: [Character] = ["A", "Q", "/", "=", "-", " ", "!"]
        var texts = [""]
        var accepted = 0
        for _ in 1...5 {
            texts = texts.flatMap { text in alphabet.map { text + String($0) } }
            for text in texts {
                let canonical = text.replacing(" ", with: "")
                let decoded = Data(base64Encoded: canonical).map { ($0.base64EncodedString(), $0) }
                let expected = decoded.flatMap { $0 == canonical && !$1.isEmpty ? Array($1) : nil }
                if (try? Base64.decode(text)) != expected { Issue.record("\(text.debugDescription)") }
                if expected != nil { accepted += 1 }
            }
        }
        #expect(accepted > 100)
    }

    @Test(arguments: Base64Error.Fault.allCases)
    func `a description names the fault and no character of the text`(fault: Base64Error.Fault) {
        for text in ["", "A", "Zx!Y", "Zx-Y", "Zx==Y", "ZB=="] {
            #expect {
                try Base64.decode(text)
            } throws: { error in
                guard let error = error as? Base64Error, error.fault == fault else { return error is Base64Error }
                return !error.description.contains("Zx") && error.description.count > 10
            }
        }
    }
}

/// A page of memory before a page without access.
@safe private final class GuardedPage {
    private let start: UnsafeMutableRawPointer
    private static let pageBytes = sysconf(Int32(_SC_PAGESIZE))

    init() throws {
        let protection = PROT_READ | PROT_WRITE, flags = MAP_PRIVATE | MAP_ANONYMOUS
        let memory = unsafe mmap(nil, 2 * Self.pageBytes, protection, flags, -1, 0)
        guard let memory = unsafe memory, unsafe memory != MAP_FAILED else { throw POSIXError(.ENOMEM) }
        unsafe start = memory
        let result = unsafe mprotect(start + Self.pageBytes, Self.pageBytes, PROT_NONE)
        try #require(result == 0)
    }

    deinit { unsafe munmap(start, 2 * Self.pageBytes) }

    /// The first byte without access.
    var end: UnsafeMutablePointer<UInt8> {
        unsafe (start + Self.pageBytes).assumingMemoryBound(to: UInt8.self)
    }
}
