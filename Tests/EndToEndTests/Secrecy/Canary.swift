// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A value that must not leak: a secret, or a receipt.
struct Canary: Sendable {
    /// Its bytes, such as those of a receipt that was sent in base64.
    let bytes: [UInt8]
    /// The text in its usual form.
    let text: String
    /// The forms in which it may leak; made once, because formatting a receipt takes milliseconds.
    private let forms: [String]

    init(receipt base64: String) {
        self.init(Array(Data(base64Encoded: base64) ?? Data()), base64)
    }

    init(secret: String) {
        self.init(Array(secret.utf8), secret)
    }

    private init(_ bytes: [UInt8], _ text: String) {
        (self.bytes, self.text) = (bytes, text)
        forms = [
            bytes.map { String(format: "%02x", $0) }.joined(), text.utf8.map { String(format: "%%%02X", $0) }.joined(),
            text.utf8.map { String(format: "\\u%04x", $0) }.joined(), Data(text.utf8).base64EncodedString(), text,
        ]
    }

    /// Returns one of the forms in which it may leak, chosen by a number.
    func written(_ form: Int) -> String { forms[form % 5] }
}

/// A search of texts for canaries: for any twelve consecutive bytes, raw, in hexadecimal, in base64, and with the
/// escapes of URLs and of JSON.
struct CanarySearch: Sendable {
    /// The length of a forbidden run in bytes; hexadecimal takes two letters for each.
    private static let length = 12
    /// Forbidden runs by their first eight letters and their length: most letters need one look-up.
    private typealias Runs = [UInt64: [Int: Set<String>]]
    private var runs: Runs = [:]
    /// The runs in base64, which may also use the alphabet for URLs.
    private var base64: Runs = [:]

    /// - Parameter known: the gateway's output before any request: the certificates in receipts have words in common
    ///   with it.
    init(_ canaries: [Canary], except known: [String] = []) {
        for canary in canaries {
            for bytes in [canary.bytes, Array(canary.text.utf8)] {
                Self.forbid(bytes, length: Self.length, in: &runs)
                let digits = Array(bytes.map { String(format: "%02x", $0) }.joined().utf8)
                Self.forbid(digits, length: 2 * Self.length, in: &runs)
                // A byte can have three positions in a group.
                for start in 0..<min(3, bytes.count) {
                    let text = Array(Data(bytes.dropFirst(start)).base64EncodedString().utf8)
                    Self.forbid(text, length: Self.length, in: &runs)
                    Self.forbid(text, length: Self.length, in: &base64)
                }
            }
        }
        for text in known.flatMap(Self.readings) {
            let bytes = Array(text.utf8)
            for start in bytes.indices.dropLast(Self.length - 1) {
                let run = bytes[start..<start + Self.length]
                let head = run.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
                runs[head]?[Self.length]?.remove(String(decoding: run, as: UTF8.self))
            }
        }
    }

    private static func forbid(_ bytes: [UInt8], length: Int, in runs: inout Runs) {
        for start in bytes.indices.dropLast(length - 1) {
            let run = bytes[start..<start + length]
            // Runs of one letter are common, and so are dates: a receipt has some.
            let isDate = length == Self.length && run.allSatisfy { "0123456789-:TZ. ".utf8.contains($0) }
            guard Set(run).count > 4, !isDate else { continue }
            let head = run.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
            runs[head, default: [:]][length, default: []].insert(String(decoding: run, as: UTF8.self))
        }
    }

    /// Returns the first line with a part of a canary, and that part.
    func leak(in lines: [String]) -> String? {
        for line in lines {
            for text in Self.readings(of: line) {
                let bytes = Array(text.utf8)
                let usual = bytes.map { byte in
                    byte == UInt8(ascii: "-") ? UInt8(ascii: "+") : byte == UInt8(ascii: "_") ? UInt8(ascii: "/") : byte
                }
                let run = Self.leak(of: runs, in: bytes) ?? Self.leak(of: base64, in: usual)
                if let run { return "\(run) in \(line)" }
            }
        }
        return nil
    }

    private static func leak(of runs: Runs, in bytes: [UInt8]) -> String? {
        var head: UInt64 = 0
        for index in bytes.indices {
            head = head << 8 | UInt64(bytes[index])
            guard index >= 7, let forbidden = runs[head] else { continue }
            for (length, words) in forbidden where index - 7 + length <= bytes.count {
                let run = String(decoding: bytes[(index - 7)..<(index - 7 + length)], as: UTF8.self)
                if words.contains(run) { return run }
            }
        }
        return nil
    }

    /// Returns the decoded forms of a line.
    private static func readings(of line: String) -> Set<String> {
        var unescaped = line.replacingOccurrences(of: "\\/", with: "/")
        // Few lines have such escapes, and a regular expression is slow in a debug build.
        if unescaped.range(of: "\\u00") != nil {
            unescaped = unescaped.replacing(/\\u00([0-9a-fA-F]{2})/) { match in
                String(UnicodeScalar(UInt8(match.output.1, radix: 16) ?? 0))
            }
        }
        return [line, line.lowercased(), unescaped, unescaped.removingPercentEncoding ?? unescaped]
    }
}
