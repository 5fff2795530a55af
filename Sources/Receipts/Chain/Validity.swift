// SPDX-License-Identifier: Apache-2.0

// Validity ::= SEQUENCE { notBefore Time, notAfter Time }
// Time ::= CHOICE { utcTime UTCTime, generalTime GeneralizedTime }           -- RFC 5280 §4.1.2.5

/// The period in which a certificate or a whole chain is valid, both ends included.
package struct Validity: Hashable, Sendable {
    var notBefore: Timestamp
    var notAfter: Timestamp

    init(_ fields: inout DERReader) throws(ReceiptError) {
        var times = try fields.enter(.sequence)
        notBefore = try Self.time(&times)
        notAfter = try Self.time(&times)
        try times.finish()
    }

    func intersection(_ other: Validity) -> Validity {
        var both = self
        both.notBefore = max(notBefore, other.notBefore)
        both.notAfter = min(notAfter, other.notAfter)
        return both
    }

    /// Throws unless a receipt created at `date` is within the period; `grace` is added to its end.
    package func check(at date: Timestamp, grace: Duration) throws(ReceiptError) {
        guard date >= notBefore else { throw ReceiptError(.certificateNotYetValid) }
        guard date <= notAfter.advanced(by: grace) else { throw ReceiptError(.certificateExpired) }
    }

    /// Reads `YYMMDDHHMMSSZ` with a pivot at 50, or `YYYYMMDDHHMMSSZ` (RFC 5280 §4.1.2.5.1 and .2).
    private static func time(_ times: inout DERReader) throws(ReceiptError) -> Timestamp {
        let element = try times.next()
        let yearDigits = element.tag == .utcTime ? 2 : 4
        guard element.tag == .utcTime || element.tag == .generalizedTime,
            element.contents.count == yearDigits + 11,
            times.bytes[element.contents.upperBound - 1] == UInt8(ascii: "Z"),
            let year = times.bytes.decimal(at: element.contents.lowerBound, digits: yearDigits)
        else { throw ReceiptError(.certificateMalformed) }
        let century = yearDigits == 4 ? 0 : (year < 50 ? 2000 : 1900)
        let rest = element.contents.dropFirst(yearDigits).dropLast()
        let pairs = stride(from: rest.lowerBound, to: rest.upperBound, by: 2).compactMap { start in
            times.bytes.decimal(at: start, digits: 2)
        }
        guard pairs.count == 5 else { throw ReceiptError(.certificateMalformed) }
        let time = CivilTime(
            year: century + year, month: pairs[0], day: pairs[1], hour: pairs[2], minute: pairs[3], second: pairs[4])
        guard time.exists else { throw ReceiptError(.certificateMalformed) }
        return Timestamp(millisecondsSince1970: time.secondsSince1970 * 1000)
    }
}

extension Span<UInt8> {
    /// Reads decimal digits; nil if a byte is no digit.
    func decimal(at start: Int, digits: Int) -> Int? {
        var value = 0
        for index in start..<start + digits {
            let digit = self[index] &- UInt8(ascii: "0")
            guard digit <= 9 else { return nil }
            value = value * 10 + Int(digit)
        }
        return value
    }
}
