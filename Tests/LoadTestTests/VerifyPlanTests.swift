// SPDX-License-Identifier: Apache-2.0

import ReceiptForge
import Testing

@testable import LoadTest

struct VerifyPlanTests {
    @Test(arguments: [(9, 9, 1.0), (720, 9, 80.0), (1000, 12, 83.33), (8000, 100, 80.0)])
    func `a case is cut into at least nine turns of 50 to 100 milliseconds`(
        milliseconds: Int, rounds: Int, sliceMilliseconds: Double
    ) {
        let plan = VerifyPlan(duration: .milliseconds(milliseconds))
        #expect(plan.rounds == rounds)
        #expect(abs(plan.slice.seconds * 1000 - sliceMilliseconds) < 0.01)
    }

    @Test(arguments: ForgedEvidenceKind.allCases)
    func `every implementation takes part on every number of threads`(_ evidence: ForgedEvidenceKind) {
        let plan = VerifyPlan(evidence: evidence, purchases: [1, 3], threads: [1, 2], duration: .milliseconds(9))
        #expect(Set(plan.entrants).count == 2 * evidence.implementations.count)
        #expect(plan.turns == 2 * plan.entrants.count * 9)
    }
}
