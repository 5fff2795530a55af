// SPDX-License-Identifier: Apache-2.0

internal import AppleSimulator
internal import ArgumentParser
internal import Foundation

struct GatewayProgram: ParsableArguments {
    @Option(
        name: .customLong("gateway"),
        help: .value("path", "The gateway's program (default: the one beside this program)."))
    var chosen: String?

    var path: String { chosen ?? ThisProgram.neighbour("receipt-gateway") }
}

enum ReportFormat: String, CaseIterable, Sendable, ExpressibleByArgument {
    case text
    case json

    /// Writes a result to standard output, as JSON or as its text.
    func write(_ result: some Encodable, or text: @autoclosure () -> String) throws {
        StandardOutput.write((self == .json ? try JSONOutput.of(result) : text()) + "\n")
    }
}

enum FileError: Error, Hashable, CustomStringConvertible {
    case notReadable(path: String)
    case tooLarge(path: String, most: Int)
    case notWritable(path: String)

    var description: String {
        switch self {
        case .notReadable(let path): "Cannot read '\(path)'."
        case .tooLarge(let path, let most): "'\(path)' has more than \(most.grouped) bytes."
        case .notWritable(let path): "Cannot write '\(path)'."
        }
    }

    static func text(of path: String) throws(FileError) -> String {
        guard let text = try? String(contentsOfFile: path, encoding: .utf8) else { throw .notReadable(path: path) }
        return text
    }

    /// Reads a whole file, which may be a pipe, or a device without an end; `-` is standard input.
    static func bytes(of path: String, atMost most: Int) throws(FileError) -> [UInt8] {
        var bytes: [UInt8] = []
        do {
            let file = path == "-" ? FileHandle.standardInput : try FileHandle(forReadingFrom: URL(filePath: path))
            while bytes.count <= most, let part = try file.read(upToCount: 1 << 20), !part.isEmpty { bytes += part }
        } catch {
            throw .notReadable(path: path)
        }
        guard bytes.count <= most else { throw .tooLarge(path: path, most: most) }
        return bytes
    }

    /// Writes the whole text or nothing.
    static func write(_ text: String, to path: String) throws(FileError) {
        do {
            try Data(text.utf8).write(to: URL(filePath: path), options: .atomic)
        } catch {
            throw .notWritable(path: path)
        }
    }
}

extension ArgumentHelp {
    static func value(_ name: String, _ text: String) -> ArgumentHelp { ArgumentHelp(text, valueName: name) }
}

extension ParsableArguments {
    func check(_ condition: Bool, _ message: String) throws(ValidationError) {
        guard condition else { throw ValidationError(message) }
    }

    /// Reads the URL of a server; errors begin with the name of the option.
    func target(_ url: String, _ defaultPath: String, option: String = "") throws(ValidationError) -> LoadTarget {
        do throws(LoadTargetError) {
            return try LoadTarget(url, defaultPath: defaultPath)
        } catch {
            throw ValidationError("\(option)\(error)")
        }
    }

    /// Throws unless the value of an option, if it has a value, is in a range.
    func check<Number: Comparable>(
        _ option: String, _ value: Number?, in range: ClosedRange<Number>
    ) throws(ValidationError) {
        guard let value, !range.contains(value) else { return }
        throw ValidationError("\(option) takes from \(range.lowerBound) to \(range.upperBound), not \(value).")
    }
}

/// Whole numbers on the command line, separated by commas, such as `1,3,9,187`.
struct NumberList: Hashable, Sendable {
    let numbers: [Int]

    /// Throws unless there is at least one number, none twice, all in `range`.
    func check(_ option: String, in range: ClosedRange<Int>) throws(ValidationError) {
        guard !numbers.isEmpty, Set(numbers).count == numbers.count, numbers.allSatisfy(range.contains) else {
            throw ValidationError(
                "\(option) takes different numbers from \(range.lowerBound) to \(range.upperBound), "
                    + "separated by commas, not '\(self)'.")
        }
    }
}

extension NumberList: ExpressibleByArgument, CustomStringConvertible {
    init?(argument: String) {
        let numbers = argument.split(separator: ",", omittingEmptySubsequences: false).map { Int($0) }
        guard !numbers.contains(nil) else { return nil }
        self.init(numbers: numbers.compactMap(\.self))
    }

    var description: String { numbers.map(String.init).joined(separator: ",") }
}

extension RunResult.Mark: ExpressibleByArgument {
    /// Reads `30s=kill redis`, for `--mark`.
    init?(argument: String) {
        guard let sign = argument.firstIndex(of: "="), let span = TimeSpan(argument: String(argument[..<sign])) else {
            return nil
        }
        let text = String(argument[argument.index(after: sign)...])
        guard !text.isEmpty, text.utf8.count <= 200, text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
            return nil
        }
        self.init(atSeconds: span.seconds, text: text)
    }
}

/// A length of time on the command line: `500ms`, `30s`, `2m`, `1h`, or seconds without a unit.
struct TimeSpan: Hashable, Sendable {
    let seconds: Double

    /// The units in the order in which they are tried: `ms` ends with `s`, too.
    private static let units: [(name: String, seconds: Double)] = [
        ("us", 1e-6), ("ms", 1e-3), ("s", 1), ("m", 60), ("h", 3600), ("", 1),
    ]

    /// A year; more is a mistake.
    private static let longest = 366.0 * 86_400
}

extension TimeSpan: ExpressibleByArgument, CustomStringConvertible {
    init?(argument: String) {
        guard let unit = Self.units.first(where: { argument.hasSuffix($0.name) }),
            let number = PlainNumber.read(argument.dropLast(unit.name.count)), number * unit.seconds <= Self.longest
        else { return nil }
        self.init(seconds: number * unit.seconds)
    }

    var description: String {
        guard seconds < 1, seconds > 0 else { return "\(PlainNumber.text(seconds))s" }
        return "\(PlainNumber.text(seconds * 1000))ms"
    }
}

/// Numbers in the form that people type: digits and at most one point; no signs, exponents, infinities.
enum PlainNumber {
    static func read(_ text: some StringProtocol) -> Double? {
        guard !text.isEmpty, text.count <= 15,
            text.utf8.allSatisfy({ $0.decimalValue != nil || $0 == UInt8(ascii: ".") })
        else { return nil }
        return Double(String(text))
    }

    static func text(_ number: Double) -> String {
        number == number.rounded() && number < 1e15 ? String(Int(number)) : String(number.rounded(toDecimals: 6))
    }
}

/// `--tls`: the certificates of servers on this machine.
struct TLSOption: ParsableArguments {
    @Option(
        name: .customLong("tls"),
        help: .value(
            "folder",
            "Serve HTTPS for localhost and 127.0.0.1: with server.pem and server.key in this folder, or "
                + "with new ones. New ones are written there, and ca.pem for clients to trust."))
    private var path: String?

    var folder: TLSFolder? { path.map(TLSFolder.init) }
}

/// `--rate`: requests per second over all workers, or as many as are answered.
enum RateOption: Hashable, Sendable, ExpressibleByArgument, CustomStringConvertible {
    case perSecond(Double)
    /// A closed loop: each connection sends as soon as its answer is there.
    case max

    /// Reads `5000`, `2.5`, `10k` or `max`.
    init?(argument: String) {
        if argument == "max" {
            self = .max
            return
        }
        let isThousands = argument.hasSuffix("k")
        guard let number = PlainNumber.read(argument.dropLast(isThousands ? 1 : 0)), number > 0 else { return nil }
        self = .perSecond(isThousands ? number * 1000 : number)
    }

    var description: String {
        switch self {
        case .perSecond(let rate): PlainNumber.text(rate)
        case .max: "max"
        }
    }
}

struct StagesOption: Hashable, Sendable {
    let steps: [Step]

    struct Step: Hashable, Sendable {
        let seconds: Double
        let rate: Double
    }

    /// Returns stages that each begin with the rate at the end of the stage before, the first with `rate`.
    func curve(from rate: Double) -> RateCurve {
        var rate = rate
        return RateCurve(
            stages: steps.map { step in
                defer { rate = step.rate }
                return RateStage(from: rate, to: step.rate, seconds: step.seconds)
            })
    }

    private static let maximumSteps = 1000
}

extension StagesOption: ExpressibleByArgument {
    /// Reads `10s:1000,30s:5000`.
    init?(argument: String) {
        let parts = argument.split(separator: ",", omittingEmptySubsequences: false)
        let steps = parts.compactMap { Step($0) }
        guard steps.count == parts.count, steps.count <= Self.maximumSteps else { return nil }
        self.init(steps: steps)
    }
}

extension StagesOption.Step {
    fileprivate init?(_ text: Substring) {
        let words = text.split(separator: ":", omittingEmptySubsequences: false)
        guard words.count == 2, let span = TimeSpan(argument: String(words[0])), span.seconds > 0 else { return nil }
        let option: RateOption? = words[1] == "0" ? .perSecond(0) : RateOption(argument: String(words[1]))
        guard case .perSecond(let rate) = option else { return nil }
        self.init(seconds: span.seconds, rate: rate)
    }
}

/// A file whose content breaks a rule.
struct ContentError<Fault: Error & Hashable>: Error, Hashable, CustomStringConvertible {
    let path: String
    let fault: Fault

    var description: String { "\(path): \(fault)" }

    /// Parses the content of a file; errors name the file.
    static func naming<Value>(_ path: String, _ parse: () throws(Fault) -> Value) throws(ContentError) -> Value {
        do throws(Fault) {
            return try parse()
        } catch {
            throw ContentError(path: path, fault: error)
        }
    }
}

extension Scenario {
    static func read(_ path: String) throws -> Scenario {
        let text = try FileError.text(of: path)
        return try ContentError.naming(path) { () throws(ScenarioError) in try Scenario(yaml: text) }
    }
}
