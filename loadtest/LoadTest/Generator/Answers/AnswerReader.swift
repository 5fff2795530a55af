// SPDX-License-Identifier: Apache-2.0

struct LoadAnswer: Hashable, Sendable {
    let status: Int
    let outcome: LoadOutcome
    /// True if no other answer follows on this connection.
    let isLast: Bool
}

/// Reads answers in HTTP/1.1 as their bytes come (RFC 9112): strict, within limits, and without keeping bodies.
///
/// Answers to HEAD and CONNECT are not understood.
struct AnswerReader: Sendable {
    private let limits: AnswerLimits
    private var state = State.statusLine
    private var head = AnswerHead()
    /// The beginning of a line whose end has not come yet.
    private var line: [UInt8] = []
    private var headBytes = 0
    private var bodyBytes = 0
    private var interimAnswers = 0
    /// The beginning of the last answer's body, until the next answer begins.
    private(set) var opening: [UInt8] = []

    private enum State {
        case statusLine, fields, chunkSize, chunkEnd, trailer, untilEnd
        case body(remaining: Int), chunk(remaining: Int)
    }

    init(limits: AnswerLimits = AnswerLimits()) {
        self.limits = limits
        opening.reserveCapacity(min(limits.openingBytes, 4096))
    }

    /// True if no byte of the next answer has come.
    var isBetweenAnswers: Bool {
        if case .statusLine = state { line.isEmpty && interimAnswers == 0 } else { false }
    }

    /// Reads on until an answer is complete or the bytes are used up.
    ///
    /// - Returns: an answer, or nil if more bytes are needed than the bytes from `position` on, which is moved.
    mutating func next(_ bytes: Span<UInt8>, _ position: inout Int) throws(AnswerFault) -> LoadAnswer? {
        while position < bytes.count {
            let isComplete: Bool
            switch state {
            case .body, .chunk, .untilEnd: isComplete = try skipBody(bytes, &position)
            case .statusLine, .fields, .chunkSize, .chunkEnd, .trailer: isComplete = try readLine(bytes, &position)
            }
            if isComplete { return finished() }
        }
        return nil
    }

    /// Ends a body without a length, as the end of the connection does.
    mutating func end() throws(AnswerFault) -> LoadAnswer? {
        if case .untilEnd = state { return finished() }
        guard isBetweenAnswers else { throw .truncated }
        return nil
    }

    private mutating func finished() -> LoadAnswer {
        let answer = LoadAnswer(
            status: head.status, outcome: LoadOutcome(status: head.status, cache: head.cache, opening: opening.span),
            isLast: head.isLast)
        (state, head, headBytes, bodyBytes, interimAnswers) = (.statusLine, AnswerHead(), 0, 0, 0)
        return answer
    }
}

// MARK: - Lines

extension AnswerReader {
    private mutating func readLine(_ bytes: Span<UInt8>, _ position: inout Int) throws(AnswerFault) -> Bool {
        guard let end = bytes.index(of: UInt8(ascii: "\n"), from: position) else {
            try keep(bytes, from: position, to: bytes.count)
            position = bytes.count
            return false
        }
        defer { position = end + 1 }
        if line.isEmpty { return try take(bytes.extracting(position..<end)) }
        try keep(bytes, from: position, to: end)
        let whole = line
        line.removeAll(keepingCapacity: true)
        return try take(whole.span)
    }

    private mutating func keep(_ bytes: Span<UInt8>, from start: Int, to end: Int) throws(AnswerFault) {
        guard line.count + end - start <= limits.maximumLineBytes else { throw .headTooLarge }
        for index in start..<end { line.append(bytes[index]) }
    }

    /// A line without its LF. Returns whether the answer ends with it.
    private mutating func take(_ line: Span<UInt8>) throws(AnswerFault) -> Bool {
        guard line.count > 0, line[line.count - 1] == UInt8(ascii: "\r") else { throw .bareLineFeed }
        headBytes += line.count + 1
        guard line.count <= limits.maximumLineBytes, headBytes <= limits.maximumHeadBytes else { throw .headTooLarge }
        return try understand(line.extracting(first: line.count - 1))
    }

    private mutating func understand(_ line: Span<UInt8>) throws(AnswerFault) -> Bool {
        switch state {
        case .statusLine:
            try head.readStatusLine(line)
            opening.removeAll(keepingCapacity: true)
            state = .fields
        case .fields:
            if line.isEmpty { return try endHead() }
            try head.readField(line)
        case .chunkSize: try beginChunk(line)
        case .chunkEnd:
            guard line.isEmpty else { throw .malformedChunk }
            state = .chunkSize
        case .trailer:
            if line.isEmpty { return true }
            try AnswerHead.checkField(line)
        case .body, .chunk, .untilEnd: break
        }
        return false
    }

    /// Finds the end of the body (RFC 9112 §6.3). Returns whether there is none.
    private mutating func endHead() throws(AnswerFault) -> Bool {
        guard head.status != 101 else { throw .switchedProtocol }
        if head.status < 200 {
            interimAnswers += 1
            guard interimAnswers <= limits.maximumInterimAnswers else { throw .tooManyInterimAnswers }
            (state, head, headBytes) = (.statusLine, AnswerHead(), 0)
            return false
        }
        guard !head.isChunked || head.length == nil else { throw .lengthAndCoding }
        // RFC 9110 §15.3.5 and §15.4.5.
        if head.status == 204 || head.status == 304 || head.length == 0 { return true }
        if head.isChunked {
            (state, headBytes) = (.chunkSize, 0)
        } else if let length = head.length {
            guard length <= limits.maximumBodyBytes else { throw .bodyTooLarge }
            state = .body(remaining: length)
        } else {
            head.isLast = true
            state = .untilEnd
        }
        return false
    }

    /// RFC 9112 §7.1.1: extensions behind the size are passed over.
    private mutating func beginChunk(_ line: Span<UInt8>) throws(AnswerFault) {
        var size = 0, digits = 0
        while digits < line.count, let digit = line[digits].hexadecimalValue {
            guard digits < 15 else { throw .bodyTooLarge }
            size = size << 4 | digit
            digits += 1
        }
        guard digits > 0, digits == line.count || line[digits] == UInt8(ascii: ";") || line[digits].isBlank else {
            throw .malformedChunk
        }
        headBytes = 0
        state = size == 0 ? .trailer : .chunk(remaining: size)
    }
}

// MARK: - Bodies

extension AnswerReader {
    private mutating func skipBody(_ bytes: Span<UInt8>, _ position: inout Int) throws(AnswerFault) -> Bool {
        let there = bytes.count - position
        let wanted: Int
        switch state {
        case .body(let remaining), .chunk(let remaining): wanted = remaining
        default: wanted = .max
        }
        let taken = min(there, wanted)
        bodyBytes += taken
        guard bodyBytes <= limits.maximumBodyBytes else { throw .bodyTooLarge }
        keepOpening(bytes, from: position, count: taken)
        position += taken
        return advance(by: taken)
    }

    private mutating func advance(by taken: Int) -> Bool {
        switch state {
        case .body(let remaining):
            state = .body(remaining: remaining - taken)
            return remaining == taken
        case .chunk(let remaining):
            state = remaining == taken ? .chunkEnd : .chunk(remaining: remaining - taken)
        default: break
        }
        return false
    }

    private mutating func keepOpening(_ bytes: Span<UInt8>, from start: Int, count: Int) {
        let wanted = min(count, limits.openingBytes - opening.count)
        guard wanted > 0 else { return }
        for index in start..<start + wanted { opening.append(bytes[index]) }
    }
}

/// The reason for which bytes are no answer in HTTP/1.1 (RFC 9112).
enum AnswerFault: Error, Hashable, Sendable {
    /// §4: `HTTP/1.x`, a space, three digits.
    case malformedStatusLine
    /// §5: a name, a colon, a value; no white space before the colon and no folded lines.
    case malformedField
    /// §2.2: lines end with CR and LF.
    case bareLineFeed
    /// §6.3: one number, or the same number again.
    case malformedLength
    /// §6.1: a length beside a transfer coding hides where an answer ends.
    case lengthAndCoding
    /// §6.1: a coding other than chunked.
    case unknownCoding
    /// §7.1: hexadecimal digits, then CR and LF; and CR and LF after each chunk.
    case malformedChunk
    /// RFC 9110 §15.2.2: no request asked for another protocol.
    case switchedProtocol
    case headTooLarge
    case bodyTooLarge
    case tooManyInterimAnswers
    case truncated
    /// No request was under way.
    case unasked
}
