// SPDX-License-Identifier: Apache-2.0

import ReceiptForge
import Testing

@testable import Receipts

/// Tests the accepted form of property lists.
struct PropertyListReaderTests {
    /// A member's name and its text, escapes undone.
    private struct Member: Equatable {
        let name: String
        let text: String
    }

    private static func members(_ text: String, maximum: Int = 8) throws(ReceiptError) -> [Member] {
        let bytes = Array(text.utf8)
        var reader = try PropertyListReader(
            bytes.span, from: 0, malformed: .purchaseInfoMalformed, maximumMembers: maximum)
        var members: [Member] = []
        while let member = try reader.next() {
            try reader.checkText(member.value)
            let name = String(decoding: bytes[member.name], as: UTF8.self)
            members.append(Member(name: name, text: bytes.span.propertyListText(in: member.value)))
        }
        return members
    }

    @Test(
        arguments: [
            ("{}", []), (" {\t}\r\n", []), (#"{"a"="b";}"#, ["a", "b"]), (#"{"a" = "";}"#, ["a", ""]),
            ("\n{\n\t\"a\" = \"b\";\n\t\"c\" = \"d\";\n}\n", ["a", "b", "c", "d"]),
            (#"{"a"="{};=/* b */";}"#, ["a", "{};=/* b */"]), (#"{"a b"="é";}"#, ["a b", "é"]),
            (#"{"a"="\"";}"#, ["a", "\""]), (#"{"a"="\\";}"#, ["a", "\\"]), (#"{"a"="\\\"\\";}"#, ["a", "\\\"\\"]),
            (#"{"a"="1\n2\r3\t4";}"#, ["a", "1\n2\r3\t4"]), (#"{"a"="\U00e9\U00E9";}"#, ["a", "éé"]),
            (#"{"a"="\Ud83d\Ude00!";}"#, ["a", "😀!"]), (#"{"a"="12345678~";}"#, ["a", "12345678~"]),
        ] as [(String, [String])])
    func `a dictionary of quoted texts is read`(text: String, expected: [String]) throws {
        #expect(try Self.members(text).flatMap { [$0.name, $0.text] } == expected)
    }

    @Test(arguments: [
        "", " ", "{", "}", "{}}", "{};", "{} x", "(\"a\")", "\"a\"", #"{"a"="b"}"#, #"{"a"="b";"#, #"{"a"="b";,}"#,
        #"{"a"="b";;}"#, #"{"a" "b";}"#, #"{"a";}"#, #"{"a"=b;}"#, #"{a="b";}"#, #"{"a"={};}"#, #"{"a"=("b");}"#,
        #"{"a"=<00>;}"#, #"{'a'='b';}"#, #"{""="b";}"#, #"{"a"="b;}"#, #"{"a"="b\";}"#, #"{"a\""="b";}"#,
        #"{"é"="b";}"#, "{\"a\tb\"=\"c\";}", #"{"a"="\x";}"#, #"{"a"="\101";}"#, #"{"a"="\u0041";}"#,
        #"{"a"="\U004";}"#, #"{"a"="\U00g0";}"#, #"{"a"="\U0000";}"#, #"{"a"="\Ud83d";}"#, #"{"a"="\Ude00";}"#,
        #"{"a"="\Ud83d\Ud83d";}"#, #"{"a"="\Ud83dxUde00";}"#, "{\"a\"=\"b\nc\";}", "{\"a\"=\"b\u{7F}\";}",
        "{\"a\"=\"12345678\u{1F}\";}", "/**/{}", "// \n{}", "{\u{A0}}", "\u{FEFF}{}", "{}\0",
    ])
    func `everything else is malformed`(text: String) {
        #expect(Self.rule(brokenBy: text) == .purchaseInfoMalformed)
    }

    private static func rule(brokenBy text: String, maximum: Int = 8) -> Rule? {
        do throws(ReceiptError) {
            _ = try members(text, maximum: maximum)
            return nil
        } catch {
            return error.rule
        }
    }

    @Test func `a text contains no NUL`() {
        #expect(Self.rule(brokenBy: "{\"a\"=\"b\0\";}") == .textContainsNUL)
    }

    @Test(arguments: [[0xFF], [0xC3], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80]] as [[UInt8]])
    func `a text is UTF-8`(bytes: [UInt8]) {
        let text = Array("{\"a\"=\"".utf8) + bytes + Array("\";}".utf8)
        #expect(Self.ruleOfText(in: text) == .textInvalidUTF8)
    }

    private static func ruleOfText(in bytes: [UInt8]) -> Rule? {
        do throws(ReceiptError) {
            var reader = try PropertyListReader(
                bytes.span, from: 0, malformed: .purchaseInfoMalformed, maximumMembers: 1)
            if let member = try reader.next() { try reader.checkText(member.value) }
            return nil
        } catch {
            return error.rule
        }
    }

    /// Each byte alone, at each place of a word of eight, in a text that is checked eight bytes at a time.
    @Test func `each byte is plain or not, wherever it stands`() {
        for byte in UInt8.min ... .max {
            for place in 0..<9 {
                var value = [UInt8](repeating: UInt8(ascii: "a"), count: 9)
                value[place] = byte
                let text = Array("{\"a\"=\"".utf8) + value + Array("\";}".utf8)
                #expect(Self.ruleOfText(in: text) == Self.rule(of: byte), "\(byte) at \(place)")
            }
        }
    }

    private static func rule(of byte: UInt8) -> Rule? {
        switch byte {
        case 0: .textContainsNUL
        case 1..<0x20, 0x7F, UInt8(ascii: "\\"), UInt8(ascii: "\""): .purchaseInfoMalformed
        case 0x80...: .textInvalidUTF8
        default: nil
        }
    }

    @Test(arguments: [(2, nil), (1, .tooManyAttributes), (0, .tooManyAttributes)] as [(Int, Rule?)])
    func `a list has at most so many members`(maximum: Int, broken: Rule?) {
        #expect(Self.rule(brokenBy: #"{"a"="b";"c"="d";}"#, maximum: maximum) == broken)
    }

    @Test(arguments: [(0, nil), (-1, .receiptTooLarge)] as [(Int, Rule?)])
    func `a transaction receipt has at most so many bytes`(spare: Int, broken: Rule?) throws {
        var limits = Limits()
        limits.maximumTransactionReceiptBytes = TransactionReceiptSamples.receipt.count + spare
        let verifier = try TransactionReceiptSamples.verifier(limits: limits)
        #expect(verifier.brokenRule(ofTransactionReceipt: TransactionReceiptSamples.receipt) == broken)
    }

    @Test(arguments: [(0, nil), (-1, .tooManyAttributes)] as [(Int, Rule?)])
    func `its purchase information has at most so many fields`(spare: Int, broken: Rule?) throws {
        let fieldCount = try TransactionReceiptSamples.verifier()
            .verify(transactionReceipt: TransactionReceiptSamples.receipt, at: Samples.now).fields.count
        var limits = Limits()
        limits.maximumTransactionReceiptFields = fieldCount + spare
        let verifier = try TransactionReceiptSamples.verifier(limits: limits)
        #expect(verifier.brokenRule(ofTransactionReceipt: TransactionReceiptSamples.receipt) == broken)
    }
}
