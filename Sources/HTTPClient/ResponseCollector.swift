// SPDX-License-Identifier: Apache-2.0

/// Assembles an answer from libcurl's callbacks, within limits. Independent of C.
struct ResponseCollector {
    private enum Phase {
        /// Before a status line: the first, or the next after an interim answer.
        case awaitingStatus
        case fields
        /// After the final header; further lines are trailers.
        case body
    }

    private(set) var status = 0
    private(set) var fields: [TransportHeader] = []
    private(set) var body: [UInt8] = []
    private(set) var failure: TransportError?

    /// True once the final status and all its fields have arrived.
    var hasWholeHeader: Bool { phase == .body }

    private var phase = Phase.awaitingStatus
    private var headerBytes = 0
    private let maximumHeaderBytes: Int
    private let maximumBodyBytes: Int

    init(maximumHeaderBytes: Int, maximumBodyBytes: Int) {
        self.maximumHeaderBytes = maximumHeaderBytes
        self.maximumBodyBytes = maximumBodyBytes
    }

    /// Appends a status line, a field line, or the empty line after them. Returns false to end the transfer.
    mutating func receive(line: Span<UInt8>) -> Bool {
        headerBytes += line.count
        if headerBytes > maximumHeaderBytes {
            failure = .tooLarge
        } else if !accepts(line.extracting(..<line.contentEnd)) {
            failure = .protocolViolation
        }
        return failure == nil
    }

    /// Appends a piece of the body. Returns false to end the transfer.
    mutating func receive(body piece: Span<UInt8>) -> Bool {
        guard failure == nil, body.count + piece.count <= maximumBodyBytes else {
            failure = failure ?? .tooLarge
            return false
        }
        unsafe piece.withUnsafeBufferPointer { unsafe body.append(contentsOf: $0) }
        return true
    }

    private mutating func accepts(_ line: Span<UInt8>) -> Bool {
        switch phase {
        case .awaitingStatus: return acceptsStatus(line)
        case .fields where line.isEmpty: phase = status < 200 ? .awaitingStatus : .body
        case .fields: return acceptsField(line)
        case .body: break
        }
        return true
    }

    private static let protocolName = Array("HTTP/".utf8)

    /// `HTTP-version SP status-code [SP reason-phrase]` (RFC 9112 §4).
    private mutating func acceptsStatus(_ line: Span<UInt8>) -> Bool {
        let space = UInt8(ascii: " ")
        guard line.begins(with: Self.protocolName), var start = line.firstIndex(of: space) else { return false }
        while start < line.count, line[start] == space { start += 1 }
        let end = line.firstIndex(of: space, from: start) ?? line.count
        guard let code = line.extracting(start..<end).statusCode else { return false }
        (status, fields, phase) = (code, [], .fields)
        return true
    }

    /// `field-name ":" OWS field-value OWS`, no whitespace before the colon, no folding (RFC 9112 §5.1, §5.2).
    private mutating func acceptsField(_ line: Span<UInt8>) -> Bool {
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > 0 else { return false }
        for index in 0..<colon where !line[index].isTokenCharacter { return false }
        var (start, end) = (colon + 1, line.count)
        while start < end, line[start].isWhitespace { start += 1 }
        while end > start, line[end - 1].isWhitespace { end -= 1 }
        fields.append(
            TransportHeader(name: line.extracting(..<colon).ascii, value: line.extracting(start..<end).ascii))
        return true
    }
}

extension Span<UInt8> {
    /// The end of a line's content, before CR and LF.
    fileprivate var contentEnd: Int {
        var end = count
        if end > 0, self[end - 1] == UInt8(ascii: "\n") { end -= 1 }
        if end > 0, self[end - 1] == UInt8(ascii: "\r") { end -= 1 }
        return end
    }

    fileprivate func begins(with text: [UInt8]) -> Bool {
        count >= text.count && text.indices.allSatisfy { self[$0] == text[$0] }
    }

    fileprivate func firstIndex(of byte: UInt8, from start: Int = 0) -> Int? {
        var index = start
        while index < count, self[index] != byte { index += 1 }
        return index < count ? index : nil
    }

    /// Three digits as a number of at least 100; nil for anything else.
    fileprivate var statusCode: Int? {
        guard count == 3 else { return nil }
        var code = 0
        for index in indices {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self[index]) else { return nil }
            code = 10 * code + Int(self[index] - UInt8(ascii: "0"))
        }
        return code >= 100 ? code : nil
    }

    /// The bytes as ASCII (RFC 9110 §5.5). Other bytes become `?`: no field that the gateway reads has them.
    fileprivate var ascii: String {
        unsafe String(unsafeUninitializedCapacity: count) { text in
            // SAFETY: there is room for as many bytes, and each is set.
            for index in indices { unsafe text[index] = self[index] < 0x80 ? self[index] : UInt8(ascii: "?") }
            return count
        }
    }
}
