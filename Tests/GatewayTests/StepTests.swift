// SPDX-License-Identifier: Apache-2.0

import Resilience
import Testing

@testable import Gateway

struct StepTests {
    private struct Failure: Error {}

    private typealias Work = Step<Int, Failure>

    @Test func `work in steps ends with its value`() async throws {
        let work = Work.compute { .wait { .compute { .done(7) } } }
        #expect(try await work.value() == 7)
    }

    @Test func `computing stops at a waiting step`() throws {
        guard case .wait = try Work.compute({ .compute { .wait { .done(1) } } }).computed() else {
            Issue.record("did not stop")
            return
        }
        guard case .done(2) = try Work.compute({ .done(2) }).computed() else {
            Issue.record("has no value")
            return
        }
    }

    @Test(arguments: [Work.done(20), .compute { .done(20) }, .wait { .compute { .done(20) } }])
    private func `a transformed value is the value of every step`(work: Work) async throws {
        let text = try work.map { number throws(Failure) in "\(number + 1)" }
        #expect(try await text.value() == "21")
    }

    @Test(arguments: [
        Work.compute { () throws(Failure) in throw Failure() }, .wait { () async throws(Failure) in throw Failure() },
    ])
    private func `a failure of any step is the failure of the work`(work: Work) async {
        await #expect(throws: Failure.self) { try await work.value() }
    }
}
