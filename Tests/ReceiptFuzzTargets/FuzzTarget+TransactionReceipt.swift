// SPDX-License-Identifier: Apache-2.0

#if DEBUG || RECEIPT_FUZZING
    @testable internal import Receipts

    extension FuzzTarget {
        /// Checks a transaction receipt, or purchase information as if it were signed: the first byte decides.
        static func checkTransactionReceipt(_ input: [UInt8]) throws {
            guard let choice = input.first else { return }
            let bytes = Array(input.dropFirst())
            do {
                if choice & 1 == 0 {
                    try bytes.checkPropertyList()
                    try UnverifiedTransactionReceipt(bytes, limits: Limits()).checkParts()
                } else {
                    let content = [4] + bytes
                    try PurchaseInfo(content.span, limits: Limits()).checkFields(in: content)
                }
            } catch let error as ReceiptError {
                // The version byte precedes the purchase information.
                try error.checkLocation(in: choice & 1 == 0 ? bytes : [4] + bytes)
            }
        }
    }

    extension [UInt8] {
        /// Checks that the texts of a property list are the same when they are written with every escape.
        fileprivate func checkPropertyList() throws {
            guard let members = try? propertyListMembers() else { return }
            let written = members.map { "\"\($0.name)\"=\"\($0.text.escaped)\";" }.joined()
            let again = try? Array("{\(written)}".utf8).propertyListMembers()
            try expect(
                again?.map(\.name) == members.map(\.name) && again?.map(\.text) == members.map(\.text),
                "other texts when written again")
            for member in members {
                try expect(!member.name.isEmpty && !member.text.utf8.contains(0), "an empty name or a NUL")
            }
        }

        private func propertyListMembers() throws(ReceiptError) -> [(name: String, text: String)] {
            var reader = try PropertyListReader(
                span, from: 0, malformed: .transactionReceiptMalformed, maximumMembers: 64)
            var members: [(String, String)] = []
            while let member = try reader.next() {
                try reader.checkText(member.value)
                members.append((span.propertyListText(in: member.name), span.propertyListText(in: member.value)))
            }
            return members
        }
    }

    extension String {
        /// Every code unit of UTF-16 as an escape.
        fileprivate var escaped: String {
            utf16.map { unit in
                let digits = String(unit, radix: 16)
                return "\\U" + String(repeating: "0", count: 4 - digits.count) + digits
            }.joined()
        }
    }

    extension UnverifiedTransactionReceipt {
        /// Checks that the parts of the signature are all of it.
        fileprivate func checkParts() throws {
            try expect(signature.rsaSignature.count == (signature.version == .two ? 128 : 256), "a signature cut short")
            if let certificate = try? signerCertificate() {
                try expect(!certificate.isEmpty, "a signature without certificate")
            }
            try expect(content.first == signature.version.rawValue && content.count > 1, "signed data without version")
            try expect(unsignedEnvironment.map { (0..<bytes.count).contains($0) } ?? true, "a text outside the receipt")
        }
    }

    extension PurchaseInfo {
        fileprivate func checkFields(in content: [UInt8]) throws {
            for name in ["bid", "product-id", "transaction-id"] as [StaticString] {
                try expect(value(of: name, in: content.span) != nil, "a required text is empty")
            }
            let names = fields.map { content.span.propertyListText(in: $0.name.range) }
            try expect(Set(names).count == names.count, "a field appears twice")
            try expect(fields.allSatisfy { (1..<content.count).contains($0.value.range) }, "a text outside the content")
            for date in [purchaseDate, originalPurchaseDate, expiresDate, cancellationDate].compactMap(\.self) {
                try expect(
                    date.millisecondsSince1970 >= 0 && CivilTime(date).year <= 9999, "a date that cannot be written")
            }
        }
    }
#endif
