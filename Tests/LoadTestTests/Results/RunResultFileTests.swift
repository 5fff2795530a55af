// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import LoadTest

struct RunResultFileTests {
    private static let sample = SampleRun(seconds: 2, warmup: 0).result()

    @Test func `a file that is not there is named`() {
        #expect(throws: FileError.notReadable(path: "/nowhere")) { try RunResultFile.read("/nowhere") }
        #expect("\(FileError.notReadable(path: "/nowhere"))" == "Cannot read '/nowhere'.")
    }

    @Test func `another schema is named before anything else is looked at`() {
        let fault = #expect(throws: RunResultFault.self) { try RunResultFile.read(Array(#"{"schema": 7}"#.utf8)) }
        #expect(fault == .otherSchema(7))
        #expect(fault.map { "\($0)" }?.contains("schema 7, and this program reads schema 1") == true)
    }

    @Test(arguments: ["", "[]", "{}", #"{"schema": "1"}"#, #"{"schema": 1.5}"#, "{\"schema\": 1", "\u{FEFF}{}"])
    func `what is no result is refused`(_ text: String) {
        #expect(throws: RunResultFault.self) { try RunResultFile.read(Array(text.utf8)) }
    }

    @Test func `a member that is missing or of another type is named with its place`() throws {
        let text = try JSONOutput.of(Self.sample)
        for (old, new, place) in [
            (#""from_per_second" : 300,"#, "", "plan.stages.0.from_per_second is missing."),
            (#""started_at" : "2026"#, #""started_at" : "26"#, "started_at: is no moment like 2026-11-21T18:26:32Z"),
            (#""workers" : 2"#, #""workers" : "two""#, "plan.workers: "),
        ] {
            let fault = #expect(throws: RunResultFault.self) {
                try RunResultFile.read(Array(text.replacingOccurrences(of: old, with: new).utf8))
            }
            #expect("\(try #require(fault))".hasPrefix("this is no result of a load run. \(place)"))
        }
    }

    @Test func `a member of a later minor version is passed over`() throws {
        let text = try JSONOutput.of(Self.sample).replacingOccurrences(
            of: #""kind" : "http""#, with: #""kind" : "http", "new" : 1"#)
        #expect(try RunResultFile.read(Array(text.utf8)) == Self.sample)
    }
}
