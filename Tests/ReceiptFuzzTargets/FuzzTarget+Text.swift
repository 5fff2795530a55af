// SPDX-License-Identifier: Apache-2.0

#if DEBUG || RECEIPT_FUZZING
    internal import FoundationEssentials
    @testable internal import Receipts

    extension FuzzTarget {
        /// Checks that each byte sequence has exactly one text, white space aside: the one Foundation writes.
        static func checkBase64(_ text: [UInt8]) throws {
            let canonical = text.filter { ![0x20, 0x09, 0x0D, 0x0A].contains($0) }
            do {
                let bytes = try Base64.decode(text.span)
                try expect(!bytes.isEmpty, "base64 of nothing")
                try expect(Array(Data(bytes).base64EncodedData()) == canonical, "base64 in a second form")
            } catch let error as Base64Error {
                try expect((0...text.count).contains(error.position), "a base64 fault outside the text")
                let decoded = Data(base64Encoded: Data(canonical))
                let isCanonical = decoded.map { !$0.isEmpty && Array($0.base64EncodedData()) == canonical } ?? false
                try expect(!isCanonical, "canonical base64 rejected: \(error.fault)")
            }
        }

        /// Checks that a date is read as it is written, or not at all.
        static func checkDate(_ bytes: [UInt8]) throws {
            if bytes.count >= 20, let date = Timestamp(plainRFC3339: bytes.span, at: bytes.count - 20) {
                try expect(
                    Array(date.description.utf8) == Array(bytes.suffix(20)), "a date read otherwise than written")
                try expect(
                    CivilTime(date).secondsSince1970 * 1000 == date.millisecondsSince1970, "a date off its calendar")
            }
            if bytes.count >= 24, let date = Timestamp(xcode: bytes.span, in: bytes.count - 24..<bytes.count) {
                try checkOffset(of: Array(bytes.suffix(24)), readAs: date)
            }
        }

        /// Compares with the local time minus its offset.
        private static func checkOffset(of text: [UInt8], readAs date: Timestamp) throws {
            let local = Timestamp(rfc3339: String(decoding: text.prefix(19), as: UTF8.self) + "Z")
            let digits = text.suffix(4).map { Int64($0) - 0x30 }
            let minutes = (digits[0] * 10 + digits[1]) * 60 + digits[2] * 10 + digits[3]
            let offset = (text[19] == UInt8(ascii: "-") ? minutes : -minutes) * 60_000
            try expect(
                local.map { $0.millisecondsSince1970 + offset } == date.millisecondsSince1970,
                "an offset taken off otherwise than written")
        }
    }
#endif
