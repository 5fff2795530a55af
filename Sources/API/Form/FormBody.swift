// SPDX-License-Identifier: Apache-2.0

internal import Clients
internal import HTTPServer
internal import JSON
internal import Receipts

/// The fields of a form body (`application/x-www-form-urlencoded`; WHATWG URL §5.1), found in one pass.
///
/// The clients of this API write base64 into the form without percent-encoding. So a `+` is a plus, in every field, and
/// a space is a plus that some software decoded; a value begins after the first `=` and may contain more.
struct FormBody: Sendable {
    /// `apikey`; empty if it is missing, repeated or too long.
    private(set) var key: [UInt8] = []
    /// `token`; empty likewise.
    private(set) var token: [UInt8] = []
    private var receipt = SingleValue.none

    /// True if clients usually spell the contents of the body like this. Other spellings are not kept in the near
    /// cache: anyone with a key could fill the cache with them.
    private(set) var isUsualSpelling = true

    /// Fields that are read. A body with more has no credentials, so that it costs no more than an honest body.
    static let maximumFields = 32

    init(_ body: Span<UInt8>) {
        var (key, token) = (SingleValue.none, SingleValue.none)
        var start = 0, count = 0
        while start < body.count {
            count += 1
            guard count <= Self.maximumFields else { return }
            let end = body.firstIndex(of: UInt8(ascii: "&"), in: start..<body.count)
            let nameEnd = body.firstIndex(of: UInt8(ascii: "="), in: start..<end)
            let value = min(nameEnd + 1, end)..<end
            switch Name(body, start..<nameEnd) {
            case .apiKey: key.add(value)
            case .token: token.add(value)
            case .receipt: receipt.add(value)
            case nil: break
            }
            start = end + 1
        }
        isUsualSpelling = count == Name.allCases.count && body.isUsualSpelling
        self.key = Self.credential(key, in: body)
        self.token = Self.credential(token, in: body)
    }

    private enum Name: String, CaseIterable {
        case apiKey = "apikey"
        case token
        case receipt

        /// Three times the seven bytes of `receipt`.
        private static let maximumBytes = 21

        init?(_ body: Span<UInt8>, _ range: Range<Int>) {
            guard range.count <= Self.maximumBytes else { return nil }
            guard body.isEncoded(range) else {
                guard let name = Self.allCases.first(where: { body.extracting(range).equals($0.rawValue.utf8.span) })
                else {
                    return nil
                }
                self = name
                return
            }
            guard let name = body.percentDecoded(range) else { return nil }
            self.init(rawValue: String(decoding: name, as: UTF8.self))
        }
    }

    private static func credential(_ field: SingleValue, in body: Span<UInt8>) -> [UInt8] {
        guard let range = field.only, range.count <= 3 * FormAuthenticator.maximumBytes,
            let value = body.percentDecoded(range), value.count <= FormAuthenticator.maximumBytes
        else { return [] }
        return value
    }

    /// - Parameter body: the body that the form was read from.
    func receiptBytes(in body: Span<UInt8>) throws(FormReceiptFault) -> [UInt8] {
        switch receipt {
        case .none: throw .missing
        case .several: throw .repeated
        case .one(let range):
            let isEncoded = body.isEncoded(range)
            let decoded = isEncoded ? body.percentDecoded(range) : []
            guard let decoded else { throw .percentEncoding }
            do throws(Base64Error) {
                return try Base64.decode(isEncoded ? decoded.span : body.extracting(range))
            } catch {
                throw .base64(error)
            }
        }
    }
}

/// The reason why a form has no readable receipt.
enum FormReceiptFault: Error, Equatable, CustomStringConvertible {
    case missing, repeated, percentEncoding
    case base64(Base64Error)

    var description: String {
        switch self {
        case .missing: "\"receipt\" is missing"
        case .repeated: "\"receipt\" is there twice"
        case .percentEncoding: "\"receipt\" has a % that two hexadecimal digits do not follow"
        case .base64(let error): "\"receipt\" \(error)"
        }
    }
}

// MARK: - Bytes

extension Span<UInt8> {
    /// Returns the position of the first such byte in a range; its end if there is none.
    fileprivate func firstIndex(of byte: UInt8, in range: Range<Int>) -> Int {
        extracting(range).firstIndex(of: byte, from: 0).map { range.lowerBound + $0 } ?? range.upperBound
    }

    /// Returns true if a range has percent-encoded bytes or spaces.
    fileprivate func isEncoded(_ range: Range<Int>) -> Bool {
        firstIndex(of: UInt8(ascii: "%"), in: range) < range.upperBound
            || firstIndex(of: UInt8(ascii: " "), in: range) < range.upperBound
    }

    /// True if nothing is percent-encoded, or `+`, `/` and `=` are, in capitals, and nothing else.
    fileprivate var isUsualSpelling: Bool {
        guard isEncoded(0..<count) else { return true }
        var index = 0
        while case let sign = firstIndex(of: UInt8(ascii: "%"), in: index..<count), sign < count {
            guard count - sign > 2 else { return false }
            switch (self[sign + 1], self[sign + 2]) {
            case (UInt8(ascii: "2"), UInt8(ascii: "B")), (UInt8(ascii: "2"), UInt8(ascii: "F")),
                (UInt8(ascii: "3"), UInt8(ascii: "D")):
                index = sign + 3
            default: return false
            }
        }
        // Raw characters beside encoded characters would make as many spellings as there are combinations.
        return firstIndex(of: UInt8(ascii: "+"), in: 0..<count) == count
            && firstIndex(of: UInt8(ascii: "/"), in: 0..<count) == count
            && firstIndex(of: UInt8(ascii: " "), in: 0..<count) == count
    }

    /// Decodes a range, and turns spaces back into plus signs; nil for a `%` without two digits.
    fileprivate func percentDecoded(_ range: Range<Int>) -> [UInt8]? {
        extracting(range).percentDecoded(writingSpacesAs: UInt8(ascii: "+"))
    }
}
