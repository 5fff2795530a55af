// SPDX-License-Identifier: Apache-2.0

/// The Prometheus text format 0.0.4, read strictly and within limits.
struct MetricsText: Hashable, Sendable {
    let samples: [Sample]

    struct Sample: Hashable, Sendable {
        let name: String
        let labels: [String: String]
        let value: Double
    }

    /// Reads the whole text; errors name the line.
    init(_ text: [UInt8], limits: MetricsLimits = MetricsLimits()) throws(MetricsFault) {
        guard text.count <= limits.bytes else { throw MetricsFault(line: 0, rule: .tooLarge) }
        var samples: [Sample] = []
        for (index, line) in text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated() {
            do throws(MetricsFault.Rule) {
                var reader = MetricsLine(rest: line, limits: limits)
                guard let sample = try reader.sample() else { continue }
                guard samples.count < limits.samples else { throw .tooMany }
                samples.append(sample)
            } catch {
                throw MetricsFault(line: index + 1, rule: error)
            }
        }
        self.samples = samples
    }
}

struct MetricsLimits: Hashable, Sendable {
    var bytes = 16 << 20
    var lineBytes = 16 << 10
    var samples = 100_000
    var labels = 64
}

struct MetricsFault: Error, Hashable, CustomStringConvertible {
    /// Counted from 1; 0 stands for the whole.
    let line: Int
    let rule: Rule

    enum Rule: Error, Hashable {
        case tooLarge, tooMany
        case malformedName, malformedLabels, malformedValue
        case repeatedLabel
        case notText
    }

    var description: String { "these are no metrics in the Prometheus text format (line \(line): \(rule))" }
}

/// Reads one line from the left.
struct MetricsLine {
    private(set) var rest: ArraySlice<UInt8>
    let limits: MetricsLimits

    /// Reads the sample of the line; nil for comments and empty lines.
    mutating func sample() throws(MetricsFault.Rule) -> MetricsText.Sample? {
        guard rest.count <= limits.lineBytes else { throw .tooLarge }
        skipBlanks()
        guard let first = rest.first, first != UInt8(ascii: "#") else { return nil }
        let name = try name(colons: true)
        let labels = try rest.drop(while: \.isBlank).first == UInt8(ascii: "{") ? self.labels() : [:]
        let value = try value()
        return MetricsText.Sample(name: name, labels: labels, value: value)
    }

    private mutating func name(colons: Bool) throws(MetricsFault.Rule) -> String {
        let word = rest.prefix { Self.isNameCharacter($0) || colons && $0 == UInt8(ascii: ":") }
        guard let first = word.first, first.decimalValue == nil else { throw .malformedName }
        rest = rest.dropFirst(word.count)
        return String(decoding: word, as: UTF8.self)
    }

    private mutating func labels() throws(MetricsFault.Rule) -> [String: String] {
        var labels: [String: String] = [:]
        _ = take("{")
        while !take("}") {
            guard labels.count < limits.labels else { throw .tooMany }
            skipBlanks()
            let name = try name(colons: false)
            guard take("="), take("\"") else { throw .malformedLabels }
            guard labels.updateValue(try quoted(), forKey: name) == nil else { throw .repeatedLabel }
            // A comma may stand behind the last label, too.
            guard take(",") || rest.drop(while: \.isBlank).first == UInt8(ascii: "}") else { throw .malformedLabels }
        }
        return labels
    }

    /// Reads the text up to the closing quote.
    private mutating func quoted() throws(MetricsFault.Rule) -> String {
        var text: [UInt8] = []
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "\""):
                guard let string = String(validating: text, as: UTF8.self) else { throw .notText }
                return string
            case UInt8(ascii: "\\"):
                switch rest.popFirst() {
                case UInt8(ascii: "\\"): text.append(UInt8(ascii: "\\"))
                case UInt8(ascii: "\""): text.append(UInt8(ascii: "\""))
                case UInt8(ascii: "n"): text.append(UInt8(ascii: "\n"))
                default: throw .malformedLabels
                }
            default: text.append(byte)
            }
        }
        throw .malformedLabels
    }

    /// Reads a number, and skips a timestamp.
    private mutating func value() throws(MetricsFault.Rule) -> Double {
        let words = rest.split(whereSeparator: \.isBlank)
        guard let first = rest.first, first.isBlank, (1...2).contains(words.count) else { throw .malformedValue }
        if words.count == 2, Int64(String(decoding: words[1], as: UTF8.self)) == nil { throw .malformedValue }
        switch String(decoding: words[0], as: UTF8.self) {
        case "NaN": return .nan
        case "+Inf", "Inf": return .infinity
        case "-Inf": return -.infinity
        case let text:
            // What Swift reads beyond decimal numbers has no place here.
            guard text.utf8.allSatisfy({ $0.decimalValue != nil || "+-.eE".utf8.contains($0) }),
                let number = Double(text)
            else { throw .malformedValue }
            return number
        }
    }

    /// Skips blanks and takes this character, if it is the next.
    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        skipBlanks()
        guard rest.first == UInt8(ascii: character) else { return false }
        rest = rest.dropFirst()
        return true
    }

    private mutating func skipBlanks() { rest = rest.drop(while: \.isBlank) }

    private static func isNameCharacter(_ byte: UInt8) -> Bool {
        // This bit makes capital letters small.
        let isLetter = (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
        return isLetter || byte.decimalValue != nil || byte == UInt8(ascii: "_")
    }
}
