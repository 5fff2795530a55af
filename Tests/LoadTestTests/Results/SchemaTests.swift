// SPDX-License-Identifier: Apache-2.0

import Foundation
import JSON
import Testing

@testable import LoadTest

struct SchemaTests {
    private static let file = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../../loadtest/schema.json").standardized

    private static func schema() throws -> JSONSchema {
        JSONSchema(try JSONValue(parsing: Array(Data(contentsOf: file))))
    }

    private static func tree(_ result: RunResult) throws -> JSONValue {
        try JSONValue(parsing: Array(JSONOutput.of(result).utf8))
    }

    private static let samples = [
        SampleRun().result(), SampleRun(outage: 8).result(), SampleRun(isRamp: true).result(),
        SampleRun(isClosed: true).result(), SampleRun(seconds: 1, warmup: 0).result(), SampleRun.empty,
        SampleRun.saying("<b>"),
    ]

    @Test(arguments: samples.indices)
    func `what is written keeps the schema`(_ sample: Int) throws {
        #expect(try Self.schema().faults(of: Self.tree(Self.samples[sample])) == [])
    }

    @Test(arguments: samples.indices)
    func `what is written is read again`(_ sample: Int) throws {
        let result = Self.samples[sample]
        #expect(try RunResultFile.read(Array(JSONOutput.of(result).utf8)) == result)
        #expect(try RunResultFile.read(Array(JSONOutput.compact(result).utf8)) == result)
    }

    @Test func `the schema requires every member that is always written, and describes no other`() throws {
        let text = try JSONOutput.of(SampleRun(seconds: 2, warmup: 0, outage: 0).result())
        let tree = try JSONValue(parsing: Array(text.utf8))
        let schema = try JSONValue(parsing: Array(Data(contentsOf: Self.file)))
        let required = Set(schema["required"]?.elements?.compactMap(\.string) ?? [])
        #expect(required == Set(tree.members?.map(\.name.description) ?? []))
        #expect(required == Set(schema["properties"]?.members?.map(\.name.description) ?? []))
    }

    /// The schema and the reader reject the same types; the schema also has ranges.
    @Test(arguments: [
        (#""schema" : 1"#, #""schema" : 2"#), (#""kind" : "http""#, #""kind" : "ftp""#),
        (#""verdict" : "passed""#, #""verdict" : "fine""#), (#""loop" : "open""#, #""loop" : "half""#),
        (#""arrival" : "poisson""#, #""arrival" : null"#), (#""keys" : 1000"#, #""keys" : 1.5"#),
        (#""late_sends" : 3"#, #""late_sends" : "3""#),
        (#""kept_schedule" : true"#, #""kept_schedule" : 1"#), (#""cores" : 2,"#, ""),
        (#""started_at" : "2026"#, #""started_at" : "26"#),
    ])
    func `what breaks the schema is not read`(old: String, new: String) throws {
        let text = try JSONOutput.of(SampleRun(seconds: 2, warmup: 0).result())
        let broken = text.replacingOccurrences(of: old, with: new)
        #expect(broken != text)
        #expect(try Self.schema().faults(of: JSONValue(parsing: Array(broken.utf8))) != [])
        #expect(throws: RunResultFault.self) { try RunResultFile.read(Array(broken.utf8)) }
    }
}
