// SPDX-License-Identifier: Apache-2.0

#if DEBUG || RECEIPT_FUZZING
    @testable internal import Receipts

    extension FuzzTarget {
        static func checkCertificate(_ bytes: [UInt8]) throws {
            do {
                let certificate = try OwnedCertificate(bytes)
                try certificate.fields.checkRanges(in: bytes)
                try certificate.checkKey()
                _ = try? TrustAnchor(der: bytes, environments: [.sandbox])
            } catch let error as ReceiptError {
                try expect(
                    error.rule == .certificateMalformed, "a malformed certificate is called \(error.rule.rawValue)")
                try error.checkLocation(in: bytes)
            }
        }
    }

    extension Certificate {
        fileprivate func checkRanges(in bytes: [UInt8]) throws {
            try expect(encoding == 0..<bytes.count, "a certificate that is not all of its bytes")
            try expect(
                encoding.contains(tbsCertificate) && encoding.contains(signature), "a part outside the certificate")
            try expect(tbsCertificate.upperBound < signature.lowerBound, "what is signed and the signature overlap")
            for part in [serialNumber, issuer, subject] {
                try expect(tbsCertificate.contains(part), "a part outside what is signed")
            }
        }
    }

    extension OwnedCertificate {
        /// Checks that OpenSSL accepts the certificate's key or not, and never verifies an unsigned content under it.
        fileprivate func checkKey() throws {
            guard (try? fields.publicKey.check()) != nil, let key = try? fields.publicKey.publicKey(in: bytes.span)
            else {
                return
            }
            let content = bytes.span.extracting(fields.tbsCertificate)
            for algorithm in SignatureAlgorithm.allCases {
                let verifiesNothing = try? key.verifies(content.extracting(0..<0), over: content, algorithm)
                try expect(verifiesNothing != true, "an empty signature verifies")
                // May be true for a root; it only has to return.
                _ = try? key.verifies(bytes.span.extracting(fields.signature), over: content, algorithm)
            }
        }
    }
#endif
