// SPDX-License-Identifier: Apache-2.0

#if DEBUG || RECEIPT_FUZZING
    @testable internal import JSON
    @testable internal import API
    internal import Receipts

    extension FuzzTarget {
        /// Checks that a tree is the same after writing and reading, and that the readers accept the same texts.
        static func checkJSON(_ bytes: [UInt8]) throws {
            let isSkipped = skips(bytes)
            do {
                let value = try JSONValue(parsing: bytes, limits: JSONLimits.tree)
                try checkRewriting(of: value)
                try expect(isSkipped, "a value that is read and cannot be skipped")
            } catch let fault as JSONFault {
                try fault.checkPosition(in: bytes)
                try expect(!isSkipped || fault.rule.isAboutContents, "skipped, and \(fault.rule.name) when read")
            }
            try checkRequests(bytes)
        }

        private static func checkRewriting(of value: JSONValue) throws {
            let text = value.bytes
            let again = try? JSONValue(parsing: text, limits: JSONLimits.rewritten)
            // Bytes are compared too: Unicode treats some different texts as equal.
            try expect(again == value && again?.bytes == text, "a tree that is written and read again is another one")
        }

        /// Returns true if the text, as the value of a member, is skipped to its end.
        private static func skips(_ bytes: [UInt8]) -> Bool {
            let text = Array(#"{"name":"#.utf8) + bytes + Array("}".utf8)
            var reader = JSONReader(text.span)
            var allowance = JSONSkipAllowance(maximumDepth: JSONLimits.tree.depth, maximumWork: 2 * text.count)
            do {
                try reader.beginObject()
                _ = try reader.nextKey()
                try reader.skipValue(within: &allowance)
                guard try reader.nextKey() == nil else { return false }
                try reader.endDocument()
                return true
            } catch {
                return false
            }
        }

        /// Checks the bodies of requests, which are read without a tree.
        private static func checkRequests(_ bytes: [UInt8]) throws {
            let json = try? JSONValue(parsing: bytes)
            do {
                let body = try VerifyRequestBody(decoding: bytes.span)
                let (name, texts) = body.subject.parts
                try expect(json?[name] != nil, "a request that is read, and is no JSON with evidence")
                let isInside = texts.allSatisfy { $0.range.upperBound < bytes.count }
                try expect(isInside, "evidence beyond the end of the request")
                if case .receipt(let receipt) = body.subject { try receipt.check(is: json?[name]) }
            } catch let fault as JSONFault {
                try fault.checkPosition(in: bytes)
            }
            do {
                let receipt = try VerifyReceiptRequestBody(decoding: bytes.span).receipt
                let isInside = receipt.text.map { $0.range.upperBound < bytes.count } ?? true
                try expect(isInside, "a receipt beyond the end of the request")
                // There is no tree of a body with two such members.
                try receipt.check(is: json?["receipt-data"])
            } catch let fault as JSONFault {
                try fault.checkPosition(in: bytes)
            }
        }
    }

    private enum JSONLimits {
        static let tree = JSONValue.Limits(bytes: 4096, depth: 8, values: 4096)
        /// Some escapes get longer: `\b` is written as `\u0008`.
        static let rewritten = JSONValue.Limits(bytes: 4 * 4096, depth: 8, values: 4096)
    }

    extension JSONFault {
        func checkPosition(in bytes: [UInt8]) throws {
            try expect((0...bytes.count).contains(position), "\(rule.name) at \(position) of \(bytes.count) bytes")
            try expect(!description.isEmpty && !rule.name.isEmpty, "a fault without a name")
        }
    }

    extension JSONFault.Rule {
        /// True if a text with this fault may be well formed, and then can be skipped.
        fileprivate var isAboutContents: Bool {
            switch self {
            case .duplicateField, .tooDeep, .tooManyValues, .tooLarge: true
            default: false
            }
        }
    }

    extension Base64Text {
        fileprivate var text: JSONText? {
            if case .text(let text) = self { text } else { nil }
        }

        /// Checks that what was decoded while reading is what the string means.
        fileprivate func check(is value: JSONValue?) throws {
            guard case .decoded(let bytes) = self, case .string(let text)? = value?.content else { return }
            try expect(
                (try? Base64.decode(Array(text.utf8).span)) == bytes,
                "a receipt decoded while reading, and another one after it")
        }
    }

    extension VerifyRequestBody.SubjectTexts {
        /// The name of the field that every such body has, and all texts.
        fileprivate var parts: (name: String, texts: [JSONText]) {
            switch self {
            case .transactionID: ("transaction_id", [])
            case .receipt(let receipt): ("receipt", receipt.text.map { [$0] } ?? [])
            case .signedTransactions(let texts):
                (
                    "signed_transactions",
                    texts.transactions + texts.renewalInfos + (texts.appTransaction.map { [$0] } ?? [])
                )
            }
        }
    }
#endif
