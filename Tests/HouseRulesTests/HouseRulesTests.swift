// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// The project rules that a compiler does not check.
struct HouseRulesTests {
    private static let sources = ["Sources", "loadtest"]

    // MARK: - Dependencies

    /// The picture leaves out what follows: a target may declare what its own targets need.
    @Test func `the picture in docs/architecture.md has the arrows of Package.swift`() throws {
        let lines = try Repository.text("docs/architecture.md").matches(of: /(?m)^ +(\w+) --> ([\w& ]+)$/)
        let drawn = Dictionary(
            uniqueKeysWithValues: lines.map { line in
                (String(line.output.1), Set(line.output.2.split(separator: " & ").map(String.init)))
            })
        let declared = Manifest(try Repository.text("Package.swift")).dependencies.filter { !Self.isForTests($0.key) }
        for target in Set(drawn.keys).union(declared.keys) {
            let needed = Self.reachable(from: target, declared)
            #expect(Self.reachable(from: target, drawn) == needed, "\(target)")
            let implied = Set((drawn[target] ?? []).flatMap { Self.reachable(from: $0, declared) })
            #expect(implied.isDisjoint(with: drawn[target] ?? []), "\(target) has arrows that follow from others")
        }
    }

    private static func reachable(from target: String, _ arrows: [String: Set<String>]) -> Set<String> {
        var found: Set<String> = [], next = Array(arrows[target] ?? [])
        while let name = next.popLast() {
            if found.insert(name).inserted { next += arrows[name] ?? [] }
        }
        return found
    }

    /// A target with more arrows has several subjects (decision 56). `Server` joins all.
    @Test func `a target declares at most 12 others`() throws {
        let declared = Manifest(try Repository.text("Package.swift")).dependencies
        #expect(declared.count > 10)
        for (target, others) in declared where target != "Server" && !Self.isForTests(target) {
            #expect(others.count <= 12, "\(target) declares \(others.count)")
        }
    }

    @Test func `a server of HTTP knows no verification`() throws {
        let declared = Manifest(try Repository.text("Package.swift")).dependencies
        let domain: Set = ["Gateway", "Customers", "AppStore", "Settings"]
        #expect(declared["HTTPServer"]?.isDisjoint(with: domain) == true)
    }

    @Test func `a file has at most 400 lines`() throws {
        for file in try Repository.swiftFiles(in: Self.sources) {
            #expect(file.lines.count <= 400, "\(file.path) has \(file.lines.count)")
        }
    }

    private static func isForTests(_ target: String) -> Bool {
        target.hasSuffix("Tests") || target.hasSuffix("TestSupport") || target.hasPrefix("ReceiptFuzz")
            || target == "RealServers"
    }

    @Test func `the time-dependent rules import nothing, not even a clock or a lock`() throws {
        let files = try Repository.swiftFiles(in: ["Sources/Resilience/Rules"])
        #expect(!files.isEmpty)
        // The type of the clock names instants; its `now` would read the time.
        let reach = /(?m)^[a-z@_ ]*import \w.*|\w+Clock(\(\))?\.now|SystemRandomNumberGenerator/
        for file in files { #expect(file.text.firstMatch(of: reach)?.output.0 == nil, "\(file.path)") }
    }

    @Test func `each C library is imported by its owners only`() throws {
        let rows = try Repository.text("docs/architecture.md").matches(of: /(?m)^\| `(C\w+)` \| (`.+`) \|$/)
        #expect(!rows.isEmpty)
        for row in rows {
            let owners = row.output.2.matches(of: /`([^`]+)`/).map { String($0.output.1) + "/" }
            let importers = try Repository.swiftFiles(in: Self.sources).filter { file in
                file.lines.contains { $0.hasSuffix("import \(row.output.1)") }
            }
            let strangers = importers.map(\.path).filter { path in !owners.contains { path.hasPrefix($0) } }
            #expect(strangers == [], "only \(owners) may import \(row.output.1)")
            for owner in owners { #expect(importers.contains { $0.path.hasPrefix(owner) }, "\(owner) owns nothing") }
        }
    }

    // MARK: - Exceptions with a reason

    @Test(arguments: ["try!", "as!", "@unchecked Sendable", "nonisolated(unsafe)", "fatalError(", " print("])
    func `dangerous code has a stated reason`(_ word: String) throws {
        for file in try Repository.swiftFiles(in: ["Sources"]) {
            for (number, line) in file.lines.enumerated() where line.contains(word) && !line.isComment {
                let reason = file.lines[max(0, number - 8)...number].contains { $0.contains(Self.reason(for: word)) }
                #expect(reason || Self.isAllowed(word, in: file.path), "\(file.path):\(number + 1) has \(word)")
            }
        }
    }

    private static func reason(for word: String) -> String {
        word.contains("Sendable") || word.contains("nonisolated") ? "SAFETY (\(word)" : "SAFETY"
    }

    /// Commands may print.
    private static func isAllowed(_ word: String, in path: String) -> Bool {
        word == " print(" && path.hasPrefix("Sources/Server/Commands/")
    }

    /// Swift compares and splits a `String` as Unicode, in time with the square of some texts (decision 52).
    @Test func `bytes from outside become text by the functions that check them`() throws {
        let copy = /String\((decoding|validating|copying):/
        for file in try Repository.swiftFiles(in: Self.edges) where Self.copiers[file.path] == nil {
            for (number, line) in file.lines.enumerated() where line.contains(copy) {
                Issue.record("\(file.path):\(number + 1): use String(outside:) or the edge's String(copying:)")
            }
        }
        for path in Self.copiers.keys { #expect(try Repository.text(path).contains(copy), "\(path)") }
    }

    /// The targets that read what clients and Redis send.
    private static let edges = [
        "Sources/HTTPServer", "Sources/API", "Sources/Redis", "Sources/RedisStore", "Sources/Gateway/StoredForms",
    ]
    /// The files that copy bytes, each with the reason.
    private static let copiers = [
        "Sources/HTTPServer/Edge/RequestHeader.swift": "the function of the edge",
        "Sources/HTTPServer/Edge/HostRule.swift": "calls it for an address in brackets",
        "Sources/HTTPServer/Routing/RouteTable.swift": "calls it for a parameter of a path, which is ASCII",
        "Sources/API/Form/FormBody.swift": "a name of at most 21 bytes",
        "Sources/Redis/RedisValue.swift": "at most 20 digits",
        "Sources/Redis/RedisCommand.swift": "the gateway's own command",
        "Sources/Redis/Hiredis/ReplyReader.swift": "a line of at most 512 bytes, as ASCII",
        "Sources/Redis/URL/RedisURLParser.swift": "the operator's configuration",
        "Sources/Gateway/StoredForms/StoredForm.swift": "a text of the gateway's own, sealed",
        "Sources/Gateway/StoredForms/StoredFormCoding.swift": "a text of the gateway's own, sealed",
        "Sources/RedisStore/StoreHealth.swift": "the gateway's own key",
        "Sources/RedisStore/Customers/Notifications/RedisCustomerStates.swift":
            "26 bytes, only compared",
    ]

    /// Arithmetic is plain: what is read must have a bound (decision 52).
    @Test func `digits from outside become numbers in files that bound them`() throws {
        let reading =
            /(guard|if|,) (let|case) .*= U?Int(8|16|32|64)?\((?!clamping|exactly|bitPattern|truncating|stored)/
        let mapping = /flatMap( \{ |\()U?Int(8|16|32|64)?(\(\$0\)|\(\$0, radix|\.init\))/
        func reads(_ line: Substring) -> Bool { line.contains(reading) || line.contains(mapping) }
        for file in try Repository.swiftFiles(in: ["Sources"]) where Self.digitReaders[file.path] == nil {
            for (number, line) in file.lines.enumerated() where reads(line) {
                Issue.record("\(file.path):\(number + 1): bound the number, and name the file here")
            }
        }
        for path in Self.digitReaders.keys {
            #expect(try Repository.text(path).split(separator: "\n").contains(where: reads), "\(path)")
        }
    }

    /// The files that read digits, each with the bound.
    private static let digitReaders = [
        "Sources/AppStore/AppleDate.swift": "a timestamp clamps it; parts of a date have two or four digits",
        "Sources/Receipts/HTTPDate.swift": "two or four digits",
        "Sources/AppStore/Headers/EndpointAnnouncements.swift": "at most 15 digits",
        "Sources/API/Events/EventsCall.swift": "a range of the API",
        "Sources/API/RequestFields.swift": "a range of the API",
        "Sources/Customers/Notifications/EmbeddedNotificationStore.swift": "the store's own ID, only compared",
        "Sources/Server/Doctor/LimitsCheck.swift": "the system's own file; shifts cannot trap",
        "Sources/Server/Doctor/RedisServerInfo.swift": "only compared",
        "Sources/Redis/Cluster/ClusterPipeline.swift": "a hash slot",
        "Sources/Redis/RedisValue.swift": "clamped to 2^48",
        "Sources/RedisStore/Customers/Events/RedisEventLog.swift": "a position has a number up to 2^53",
        "Sources/RedisStore/RedisPurges.swift": "a number of at most 14 digits",
        "Sources/Clients/Values/ConfigurationValue.swift": "the range of the setting; products are checked",
    ]

    @Test func `no unfinished work is marked in the code`() throws {
        for file in try Repository.swiftFiles(in: Self.sources + ["Tests"]) where !file.path.contains("HouseRules") {
            let found = file.text.firstMatch(of: /\b(TODO|FIXME|XXX|HACK)\b/)
            #expect(found == nil, "\(file.path)")
        }
    }

    @Test func `every Swift file begins with the licence`() throws {
        for file in try Repository.swiftFiles(in: Self.sources + ["Tests"]) {
            #expect(file.lines.first == "// SPDX-License-Identifier: Apache-2.0", "\(file.path)")
        }
    }

    @Test func `no function is longer than a screen`() throws {
        for file in try Repository.swiftFiles(in: Self.sources) where !Self.tables.contains(file.path) {
            for function in file.functions where function.lineCount > Self.maximumFunctionLines {
                Issue.record("\(file.path):\(function.line) has \(function.lineCount) lines")
            }
        }
    }

    private static let maximumFunctionLines = 60
    /// One line for each rule.
    private static let tables: Set<String> = ["Sources/Receipts/Rule.swift"]
}

extension Substring {
    fileprivate var isComment: Bool { drop { $0 == " " }.hasPrefix("//") }

    fileprivate var declaresFunction: Bool {
        // Few lines have the words at all: a pattern is slow in a debug build.
        (contains("func ") || contains("init")) && contains(/\b(func|init)\b.*[({]/) && !isComment
    }
}

extension Repository.File {
    /// Functions by the indentation of their braces, which the formatter keeps.
    fileprivate var functions: [(line: Int, lineCount: Int)] {
        var functions: [(Int, Int)] = []
        for (number, line) in lines.enumerated() where line.declaresFunction {
            // A protocol requirement has no body.
            guard lines[number...].prefix(while: { !$0.isEmpty }).contains(where: { $0.hasSuffix("{") }) else {
                continue
            }
            let closing = line.prefix { $0 == " " } + "}"
            guard let end = lines[number...].firstIndex(where: { $0 == closing }) else { continue }
            functions.append((number + 1, end - number + 1))
        }
        return functions
    }
}
