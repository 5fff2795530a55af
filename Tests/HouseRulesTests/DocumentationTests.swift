// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

import Receipts
import Testing
import Yams

@testable import Server

/// The documentation says what the code does, no more and no less.
struct DocumentationTests {
    @Test func `every setting stands in docs/configuration.md with its default, and nothing else does`() throws {
        let rows = try Repository.text("docs/configuration.md")
            .matches(of: /(?m)^\| `(gateway\.[a-z_.]+)` \| `(GATEWAY_[A-Z_]+)` \| (.*?) \|/)
        let documented = rows.map { "\($0.output.1) \($0.output.2) \($0.output.3)" }
        let declared = ConfigurationKeys.all.map { key in
            let text = key.defaultText
            return "\(key.fileName) \(key.environmentName) \(text.isEmpty ? "–" : "`\(text)`")"
        }
        #expect(documented.sorted() == declared.sorted())
    }

    @Test func `every reason and problem code stands in docs/api.yaml, and nothing else does`() throws {
        let api = try #require(try Yams.load(yaml: Repository.text("docs/api.yaml")) as? [String: Any])
        let reasons = try Self.values(of: "reason", in: "VerifyAnswer", api)
        #expect(reasons == Set(Rule.allCases.map(\.rawValue) + ["upstream_not_configured"]))
        #expect(try Self.values(of: "code", in: "Problem", api) == Set(Problem.Code.allCases.map(\.rawValue)))
    }

    private static func values(of property: String, in schema: String, _ api: [String: Any]) throws -> Set<String> {
        let components = try #require(api["components"] as? [String: Any])
        let schemas = try #require(components["schemas"] as? [String: Any])
        let object = try #require(schemas[schema] as? [String: Any])
        let properties = try #require(object["properties"] as? [String: Any])
        let values = try #require(properties[property] as? [String: Any])
        return Set(try #require(values["enum"] as? [String]))
    }

    @Test func `the version is one, in both programs and in the description`() throws {
        let loadTest = try Repository.text("loadtest/LoadTest/ReceiptLoadtest.swift")
        #expect(loadTest.matches(of: /version: "(.+?)"/).map { String($0.output.1) } == [Version.current])
        let api = try #require(try Yams.load(yaml: Repository.text("docs/api.yaml")) as? [String: Any])
        #expect((api["info"] as? [String: Any])?["version"] as? String == Version.current)
    }

    @Test func `every rule has an explanation of its own`() {
        #expect(Set(Rule.allCases.map(\.explanation)).count == Rule.allCases.count)
        #expect(Rule.allCases.allSatisfy { $0.explanation.hasSuffix(".") })
    }
}
