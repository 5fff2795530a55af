// SPDX-License-Identifier: Apache-2.0

import Telemetry
import Testing

@testable import Server

/// The versions in `.ci/tested-versions`, and the version that the programs print.
struct TestedVersionsTests {
    private struct Package {
        let url: String
        let version: [Int]
    }

    @Test func `every dependency of Package.swift has a tested version that Package.swift allows`() throws {
        let tested = try Self.testedPackages()
        let declared = try Self.packages(in: "Package.swift", /package\(url: "(.+?)(?:\.git)?", from: "([0-9.]+)"\)/)
        #expect(!declared.isEmpty)
        for package in declared {
            let version = try #require(tested.first { $0.url == package.url }?.version, "\(package.url)")
            #expect(version.first == package.version.first, "\(package.url)")
            #expect(!version.lexicographicallyPrecedes(package.version), "\(package.url)")
        }
    }

    @Test func `every line of .ci/tested-versions has a URL, a version and a licence`() throws {
        let lines = try Repository.text(".ci/tested-versions").split(separator: "\n").filter { !$0.hasPrefix("#") }
        let wrong = lines.filter { $0.wholeMatch(of: /https:\/\/\S+ [0-9]+\.[0-9]+\.[0-9]+ \S.*/) == nil }
        #expect(!lines.isEmpty && wrong.isEmpty)
        #expect(lines == lines.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) })
    }

    /// Otherwise SwiftPM changes what `.ci/pin` resolved, and `make dist` refuses to build.
    @Test func `each package that SwiftPM resolves has a tested version, and no other package has one`() throws {
        let tested = try Self.testedPackages()
        let resolved = try Repository.text("Package.resolved").matches(of: /"identity" : "(.+)"/).map { $0.output.1 }
        #expect(tested.compactMap { $0.url.lowercased().split(separator: "/").last }.sorted() == resolved.sorted())
    }

    @Test func `the printed version has the commit as build metadata, if there is one`() {
        #expect(Version.with(commit: "5b8f642c5f73") == "\(Version.current)+5b8f642c5f73")
        #expect(Version.with(commit: nil) == Version.current)
        // Only `make dist` links a commit in.
        #expect(Version.withCommit == Version.current)
    }

    private static func testedPackages() throws -> [Package] {
        try packages(in: ".ci/tested-versions", /(?m)^(https:\S+?)(?:\.git)? ([0-9.]+) \S+.*$/)
    }

    private static func packages(
        in file: String, _ pattern: Regex<(Substring, Substring, Substring)>
    ) throws -> [Package] {
        try Repository.text(file).matches(of: pattern).map { match in
            Package(url: String(match.output.1), version: match.output.2.split(separator: ".").compactMap { Int($0) })
        }
    }
}
