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
        } else if !accepts(line.text) {
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

    private mutating func accepts(_ line: Substring) -> Bool {
        switch phase {
        case .awaitingStatus: return acceptsStatus(line)
        case .fields where line.isEmpty: phase = status < 200 ? .awaitingStatus : .body
        case .fields: return acceptsField(line)
        case .body: break
        }
        return true
    }

    /// `HTTP-version SP status-code SP reason-phrase` (RFC 9112 §4).
    private mutating func acceptsStatus(_ line: Substring) -> Bool {
        let parts = line.split(separator: " ", maxSplits: 2)
        guard parts.count >= 2, parts[0].hasPrefix("HTTP/"), let code = Int(parts[1]), (100...999).contains(code) else {
            return false
        }
        (status, fields, phase) = (code, [], .fields)
        return true
    }

    /// `field-name ":" OWS field-value OWS`, no whitespace before the colon, no folding (RFC 9112 §5.1, §5.2).
    private mutating func acceptsField(_ line: Substring) -> Bool {
        guard let colon = line.utf8.firstIndex(of: UInt8(ascii: ":")) else { return false }
        let name = line[..<colon]
        guard !name.isEmpty, name.utf8.allSatisfy(\.isTokenCharacter) else { return false }
        fields.append(TransportHeader(name: String(name), value: String(line[colon...].dropFirst().trimmingWhiteSpace)))
        return true
    }
}

extension Span<UInt8> {
    /// The line as ASCII (RFC 9110 §5.5): other bytes, which no field that is read has, become `?`. Swift would split
    /// them as Unicode.
    fileprivate var text: Substring {
        let visible = indices.map { self[$0] < 0x80 ? self[$0] : UInt8(ascii: "?") }
        let text = String(decoding: visible, as: UTF8.self)
        var line = text.utf8[...]
        if line.last == UInt8(ascii: "\n") { line.removeLast() }
        if line.last == UInt8(ascii: "\r") { line.removeLast() }
        return Substring(line)
    }
}
