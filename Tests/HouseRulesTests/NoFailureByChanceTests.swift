// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// The rules that keep tests from failing by chance (Tests/README.md).
struct NoFailureByChanceTests {
    private static func files() throws -> [Repository.File] {
        let files = try Repository.swiftFiles(in: ["Tests"]).filter { !$0.path.contains("HouseRulesTests") }
        #expect(files.count > 300)
        return files
    }

    @Test func `random numbers of tests come from a seed`() throws {
        let unseeded = /SystemRandomNumberGenerator|\.shuffled\(\)|\.randomElement\(\)|\.random\(in: (?!.*using: )/
        for file in try Self.files() {
            for (number, line) in file.lines.enumerated() where line.contains(unseeded) {
                Issue.record("\(file.path):\(number + 1) is random: use SplitMix64(seed: TestSeed.number(…))")
            }
        }
    }

    /// A dictionary has another order in each process, and in a copy of itself: an equal request would have other bytes.
    @Test func `the members of a body have one order`() throws {
        for file in try Self.files() {
            for call in file.text.ranges(of: "data(withJSONObject:") {
                let rest = file.text[call.upperBound...].prefix(400)
                #expect(rest.contains("sortedKeys"), "\(file.path): use .sortedKeys: \(rest.prefix(60))")
            }
        }
    }

    /// On a busy machine everything is slow: such a test does not test the code. A lower bound cannot fail by chance.
    @Test func `no test asserts that an operation was fast`() throws {
        let clock = /\.now - |duration\(to: \.now\)|\b(elapsed|lasted|duration)\b|\.took\b|\blatency\b/
        for file in try Self.files() {
            for (number, line) in file.lines.enumerated() where line.contains("#expect(") || line.contains("#require(")
            {
                let isBound = line.contains(clock) && line.contains(#/ <=? |\.\.[<.]/#)
                #expect(!isBound, "\(file.path):\(number + 1) has an upper bound of time")
            }
        }
    }

    /// `grep -q` ends at the first match. If the program before it still writes, it fails, and with `pipefail` so does the
    /// line.
    @Test func `no script ends a pipe before its writer has written all`() throws {
        let scripts =
            try Repository.files(in: [".ci"], named: /(?!dist$|dist\/debian$)(dist\/)?[a-z]+/)
            + Repository.files(in: ["loadtest"], named: /\w+\.sh/)
        #expect(scripts.count > 20)
        for file in scripts where file.text.contains("pipefail") {
            for (number, line) in file.lines.enumerated() {
                let ends = line.contains(/\| *grep -\w*q/)
                #expect(!ends, "\(file.path):\(number + 1): use `grep … >/dev/null`")
            }
        }
    }

    @Test func `waits for an event share one deadline`() throws {
        for file in try Self.files() where !file.path.hasPrefix("Tests/TestSupport/") {
            for (number, line) in file.lines.enumerated() {
                #expect(!line.contains(".timeLimit(.minutes"), "\(file.path):\(number + 1): use .timeLimit(.patient)")
                if line.contains("ContinuousClock.now < ") {
                    let isShared = file.text.contains("Patience.forEvent")
                    #expect(isShared, "\(file.path):\(number + 1): use Patience.forEvent")
                }
            }
        }
    }

    /// A machine may stand still for longer than a limit of milliseconds.
    @Test func `a short limit of the code under test is one that passes`() throws {
        let limit = /(command|connect)Deadline\b.*(\.milliseconds\(|\.seconds\(\d\d?\))/
        let setting = /"GATEWAY_(REDIS|APPLE)_\w*(DEADLINE|TIMEOUT)": "(\d+ms|\ds)"/
        let answer = /deadlines\.answer = \.milliseconds\(|\banswer: \.milliseconds\(/
        for file in try Self.files() {
            for (above, line) in zip(file.lines, file.lines.dropFirst()) where Self.mayBeLimit(line) {
                let isSet = line.contains(limit) || line.contains(setting) || line.contains(answer)
                guard isSet, !line.contains("#expect(") else { continue }
                #expect((above + line).contains("// It passes"), "\(file.path): use Patience:\(line)")
            }
        }
    }

    /// Few lines have the words at all: a pattern is slow in a debug build.
    private static func mayBeLimit(_ line: Substring) -> Bool {
        ["Deadline", "_DEADLINE", "_TIMEOUT", "answer"].contains { line.contains($0) }
    }

    @Test func `a pause says what it is for`() throws {
        for file in try Self.files() {
            for (above, line) in zip(file.lines, file.lines.dropFirst()) where line.contains("Task.sleep(") {
                let isExplained = (above + line).contains("//")
                #expect(isExplained, "\(file.path): \(line)")
            }
        }
    }

    /// A port that was free when it was chosen may be taken when it is used.
    @Test func `ports are reserved by their owner or chosen by the system`() throws {
        let bound = /\.bind\(host: "?[\w.]+"?, port: (?!0\)|\w+\.number\))/
        for file in try Repository.swiftFiles(in: ["Tests", "loadtest"]) where !Self.choosers.contains(file.path) {
            for (number, line) in file.lines.enumerated() where line.contains(bound) {
                Issue.record("\(file.path):\(number + 1): listen at port 0 or at a ReservedPort")
            }
        }
    }

    /// They listen at the port that another process or address gave them.
    private static let choosers: Set<String> = [
        "Tests/HTTPClientTests/Support/SilentAddress.swift", "loadtest/LoadTest/Bench/CeilingCommand.swift",
        "Tests/HouseRulesTests/NoFailureByChanceTests.swift",
    ]
}
