// SPDX-License-Identifier: Apache-2.0

/// The Prometheus text format 0.0.4, read strictly.
struct MetricsText: Hashable, Sendable {
    let samples: [Sample]

    struct Sample: Hashable, Sendable {
        let name: String
        let labels: [String: String]
        let value: Double
    }

    /// Reads the whole text; errors name the line.
    init(_ text: [UInt8]) throws(MetricsFault) {
        var samples: [Sample] = []
        for (index, line) in text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated() {
            var line = MetricsLine(rest: line)
            guard !line.isComment else { continue }
            guard let sample = line.sample() else { throw MetricsFault(line: index + 1) }
            samples.append(sample)
        }
        self.samples = samples
    }
}

struct MetricsFault: Error, Hashable, CustomStringConvertible {
    /// Counted from 1.
    let line: Int

    var description: String { "these are no metrics in the Prometheus text format (line \(line))" }
}

/// Reads one line from the left; nil stands for a line that breaks the format.
private struct MetricsLine {
    private(set) var rest: ArraySlice<UInt8>

    private var next: UInt8? { rest.drop(while: \.isBlank).first }

    var isComment: Bool { next == nil || next == UInt8(ascii: "#") }

    mutating func sample() -> MetricsText.Sample? {
        guard let name = name(with: ":"), let labels = next == UInt8(ascii: "{") ? labels() : [:], let value = value()
        else { return nil }
        return MetricsText.Sample(name: name, labels: labels, value: value)
    }

    /// Reads a name of letters, digits and `_`, and of one other character for metrics.
    private mutating func name(with other: Unicode.Scalar? = nil) -> String? {
        rest = rest.drop(while: \.isBlank)
        // The bit 0x20 makes capital letters small.
        let word = rest.prefix { byte in
            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20) || byte.decimalValue != nil
                || byte == UInt8(ascii: "_") || other.map { byte == UInt8(ascii: $0) } ?? false
        }
        guard let first = word.first, first.decimalValue == nil else { return nil }
        rest = rest.dropFirst(word.count)
        return String(decoding: word, as: UTF8.self)
    }

    private mutating func labels() -> [String: String]? {
        var labels: [String: String] = [:]
        _ = take("{")
        while !take("}") {
            guard let name = name(), take("="), take("\""), let value = quoted(),
                labels.updateValue(value, forKey: name) == nil,
                // A comma may stand behind the last label, too.
                take(",") || next == UInt8(ascii: "}")
            else { return nil }
        }
        return labels
    }

    /// Reads the text up to the closing quote.
    private mutating func quoted() -> String? {
        var text: [UInt8] = []
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "\""): return String(validating: text, as: UTF8.self)
            case UInt8(ascii: "\\"):
                switch rest.popFirst() {
                case UInt8(ascii: "\\"): text.append(UInt8(ascii: "\\"))
                case UInt8(ascii: "\""): text.append(UInt8(ascii: "\""))
                case UInt8(ascii: "n"): text.append(UInt8(ascii: "\n"))
                default: return nil
                }
            default: text.append(byte)
            }
        }
        return nil
    }

    /// Reads a number, and skips a timestamp.
    private func value() -> Double? {
        let words = rest.split(whereSeparator: \.isBlank).map { String(decoding: $0, as: UTF8.self) }
        guard let first = rest.first, first.isBlank, (1...2).contains(words.count) else { return nil }
        if words.count == 2, Int64(words[1]) == nil { return nil }
        switch words[0] {
        case "NaN": return .nan
        case "+Inf", "Inf": return .infinity
        case "-Inf": return -.infinity
        case let text:
            // What Swift reads beyond decimal numbers has no place here.
            return text.utf8.allSatisfy { $0.decimalValue != nil || "+-.eE".utf8.contains($0) } ? Double(text) : nil
        }
    }

    /// Skips blanks and takes this character, if it is the next.
    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard next == UInt8(ascii: character) else { return false }
        rest = rest.drop(while: \.isBlank).dropFirst()
        return true
    }
}
