// SPDX-License-Identifier: Apache-2.0

struct AnswerHead: Sendable {
    var status = 0
    var isLast = false
    private(set) var cache: AnsweredCacheStatus = []
    private(set) var length: Int?
    private(set) var isChunked = false

    /// `HTTP/1.1 200 OK`, without the line's end.
    mutating func readStatusLine(_ line: Span<UInt8>) throws(AnswerFault) {
        guard line.count >= 12, line.starts(with: "HTTP/1."), line[8] == UInt8(ascii: " ") else {
            throw .malformedStatusLine
        }
        guard line.count == 12 || line[12] == UInt8(ascii: " ") else { throw .malformedStatusLine }
        var status = 0
        for index in 9..<12 {
            guard let digit = line[index].decimalValue else { throw .malformedStatusLine }
            status = status * 10 + digit
        }
        guard (100...599).contains(status) else { throw .malformedStatusLine }
        self.status = status
        switch line[7] {
        case UInt8(ascii: "1"): break
        // §9.3: HTTP/1.0 closes, unless it says otherwise.
        case UInt8(ascii: "0"): isLast = true
        default: throw .malformedStatusLine
        }
    }

    /// `name: value`, without the line's end.
    mutating func readField(_ line: Span<UInt8>) throws(AnswerFault) {
        let colon = try Self.checkField(line)
        let value = line.extracting((colon + 1)...).trimmed
        // The length of a name tells most fields apart.
        switch colon {
        case 10 where line.starts(with: "connection"): readConnection(value)
        case 12 where line.starts(with: "cache-status"): cache.formUnion(AnsweredCacheStatus(field: value))
        case 14 where line.starts(with: "content-length"): try readLength(value)
        case 16 where line.starts(with: "gateway-degraded"): cache.insert(.degraded)
        case 17 where line.starts(with: "transfer-encoding"):
            guard value.count == 7, value.starts(with: "chunked"), !isChunked else { throw .unknownCoding }
            isChunked = true
        default: break
        }
    }

    @discardableResult
    static func checkField(_ line: Span<UInt8>) throws(AnswerFault) -> Int {
        guard let colon = line.index(of: UInt8(ascii: ":"), from: 0), colon > 0 else { throw .malformedField }
        for index in 0..<colon where !line[index].isTokenCharacter { throw .malformedField }
        return colon
    }

    private mutating func readConnection(_ value: Span<UInt8>) {
        if value.containsWord("close") { isLast = true } else if value.containsWord("keep-alive") { isLast = false }
    }

    private mutating func readLength(_ value: Span<UInt8>) throws(AnswerFault) {
        guard (1...15).contains(value.count) else { throw .malformedLength }
        var number = 0
        for index in 0..<value.count {
            guard let digit = value[index].decimalValue else { throw .malformedLength }
            number = number * 10 + digit
        }
        guard length == nil || length == number else { throw .malformedLength }
        length = number
    }
}

/// The relevant parts of the field Cache-Status (RFC 9211), and the gateway's own `Gateway-Degraded`.
struct AnsweredCacheStatus: OptionSet, Sendable {
    let rawValue: UInt8

    static let hit = AnsweredCacheStatus(rawValue: 1)
    /// The request waited for another request's answer.
    static let collapsed = AnsweredCacheStatus(rawValue: 2)
    /// The answer has Apple's form, which does not say that it is degraded.
    static let degraded = AnsweredCacheStatus(rawValue: 4)
}

extension AnsweredCacheStatus {
    /// Reads a field's value: the parameters behind the cache's name that consist of a name alone.
    init(field: Span<UInt8>) {
        self = []
        if field.containsText("; hit") { insert(.hit) }
        if field.containsText("; collapsed") { insert(.collapsed) }
    }
}
