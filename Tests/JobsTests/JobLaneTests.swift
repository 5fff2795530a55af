// SPDX-License-Identifier: Apache-2.0

import Customers
import Gateway
import Receipts
import Testing

@Suite struct JobLaneTests {
    @Test func `a job without an environment waits for production`() {
        #expect(JobLane(lane: nil) == .production)
        #expect(JobLane(lane: .sandbox) == .sandbox)
    }
}
