// SPDX-License-Identifier: Apache-2.0

#if DEBUG || RECEIPT_FUZZING
    @testable internal import API
    internal import JSON
    internal import Receipts

    extension FuzzTarget {
        /// Checks that a form means the same with every byte percent-encoded, and that the answer made of a JSON text is
        /// one itself.
        static func checkForm(_ bytes: [UInt8]) throws {
            let form = FormBody(bytes.span)
            try expect(form.key.count <= 256 && form.token.count <= 256, "credentials beyond their limit")
            if !form.key.isEmpty, !form.token.isEmpty, let receipt = try? form.receiptBytes(in: bytes.span) {
                var text: [UInt8] = []
                Base64.append(encoding: receipt, to: &text)
                let fields = [("apikey", form.key), ("token", form.token), ("receipt", text)]
                let encoded = fields.map { "\($0)=" + $1.map(percentEncoded).joined() }.joined(separator: "&")
                let again = FormBody(Array(encoded.utf8).span)
                try expect(again.key == form.key && again.token == form.token, "other credentials when encoded")
                let same = try again.receiptBytes(in: Array(encoded.utf8).span)
                try expect(same == receipt, "another receipt when encoded")
            }
            guard (try? JSONValue(parsing: bytes)) != nil, let answer = FormAnswer.success(from: bytes.span) else {
                return
            }
            try expect(answer.starts(with: FormAnswer.successPrefix), "a success that does not begin like one")
            _ = try JSONValue(parsing: answer)
        }

        private static func percentEncoded(_ byte: UInt8) -> String { "%" + ASCII.hexadecimal([byte]) }
    }
#endif
