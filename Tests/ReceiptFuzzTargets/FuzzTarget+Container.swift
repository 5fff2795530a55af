// SPDX-License-Identifier: Apache-2.0

#if DEBUG || RECEIPT_FUZZING
    @testable internal import Receipts

    extension FuzzTarget {
        static func checkContainer(_ bytes: [UInt8]) throws {
            do {
                let receipt = try UnverifiedReceipt(bytes)
                try receipt.container.checkRanges(in: bytes)
                try receipt.container.checkHeaders(in: bytes)
                try checkRefused(bytes + [0], "a container with a byte after it")
                try checkRefused(Array(bytes.dropLast()), "a container without its last byte")
            } catch let error as ReceiptError {
                try error.checkLocation(in: bytes)
            }
        }

        private static func checkRefused(_ bytes: [UInt8], _ description: String) throws {
            try expect((try? UnverifiedReceipt(bytes)) == nil, description)
        }

        /// Checks that the result is DER where the input was BER, and does not change when normalised again.
        static func checkBER(_ bytes: [UInt8]) throws {
            let normalizer = BERNormalizer(maximumDepth: 16)
            do {
                let der = try normalizer.normalize(bytes.span)
                try expect((try? normalizer.normalize(der.span)) == der, "a second normalisation changes something")
                // Each indefinite length takes four bytes with its end; a definite one takes up to six.
                try expect(der.count <= bytes.count * 2, "the normal form is more than twice as large")
                if bytes.count > 1, bytes[1] != 0x80 { try expect(der == bytes, "definite lengths changed") }
                try checkDefinite(der)
            } catch let error as ReceiptError {
                try error.checkLocation(in: bytes)
            }
        }

        private static func checkDefinite(_ der: [UInt8]) throws {
            var reader = DERReader(der.span)
            let element = try? reader.next()
            try expect(element?.encoding == 0..<der.count, "the normal form is not one element of definite length")
        }
    }

    extension SignedData {
        /// Checks that all parts are inside the receipt and in order, without a gap between certificates.
        func checkRanges(in bytes: [UInt8]) throws {
            let whole = 0..<bytes.count
            try expect(whole.contains(eContent) && !eContent.isEmpty, "content outside the receipt")
            var position = certificates.first?.lowerBound ?? eContent.upperBound
            try expect(eContent.upperBound <= position, "content and certificates overlap")
            for certificate in certificates {
                try expect(certificate.lowerBound == position && !certificate.isEmpty, "a gap between certificates")
                position = certificate.upperBound
            }
            try expect(position <= signer.issuer.lowerBound, "certificates and signer overlap")
            let parts = [signer.issuer, signer.serialNumber, signer.signature]
            for part in parts { try expect(whole.contains(part), "a part of the signer outside the receipt") }
            try expect(signer.issuer.upperBound <= signer.serialNumber.lowerBound, "issuer and serial number overlap")
            try expect(
                signer.serialNumber.upperBound <= signer.signature.lowerBound, "serial number and signature overlap")
        }
    }

    extension SignedData {
        /// Checks that every length is in its one DER form.
        func checkHeaders(in bytes: [UInt8]) throws {
            var contents: [(UInt8, Range<Int>)] = [
                (0x04, eContent), (0x02, signer.serialNumber), (0x04, signer.signature),
            ]
            // Only certificates are in their set.
            if let first = certificates.first, let last = certificates.last {
                contents.append((0xA0, first.lowerBound..<last.upperBound))
            }
            for (tag, contents) in contents {
                let header = [tag] + Self.length(contents.count)
                try expect(
                    bytes[..<contents.lowerBound].suffix(header.count) == header[...], "a length in a second form")
            }
            let isShortest = (1...5).contains { byteCount in
                let length = Self.length(bytes.count - 1 - byteCount)
                return length.count == byteCount && bytes.starts(with: [0x30] + length)
            }
            try expect(isShortest, "the outermost length in a second form")
        }

        private static func length(_ count: Int) -> [UInt8] {
            if count < 0x80 { return [UInt8(count)] }
            let bytes = (0..<8).reversed().map { UInt8(truncatingIfNeeded: count >> (8 * $0)) }.drop { $0 == 0 }
            return [0x80 | UInt8(bytes.count)] + bytes
        }
    }
#endif
