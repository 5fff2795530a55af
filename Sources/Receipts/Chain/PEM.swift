// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The textual encoding of certificates (RFC 7468 §5).
enum PEM {
    private static let begin = "-----BEGIN CERTIFICATE-----"
    private static let end = "-----END CERTIFICATE-----"

    static func certificates(in text: String) throws(TrustAnchorError) -> [[UInt8]] {
        var certificates: [[UInt8]] = []
        var block: String?
        for line in text.split(whereSeparator: \.isNewline) {
            switch (line.trimmingSpaces, block) {
            case (begin, nil):
                block = ""
            case (begin, .some):
                throw .unterminatedPEM
            case (end, let body?):
                certificates.append(try decode(body))
                block = nil
            case (let body, .some):
                block?.append(contentsOf: body)
            default:
                continue
            }
        }
        guard block == nil else { throw .unterminatedPEM }
        return certificates
    }

    private static func decode(_ body: String) throws(TrustAnchorError) -> [UInt8] {
        do throws(Base64Error) {
            return try Base64.decode(body)
        } catch {
            throw .malformedPEM(error)
        }
    }
}

extension Substring {
    fileprivate var trimmingSpaces: Substring {
        let start = drop { $0 == " " || $0 == "\t" }
        guard let last = start.lastIndex(where: { $0 != " " && $0 != "\t" }) else { return "" }
        return start[...last]
    }
}
