// SPDX-License-Identifier: Apache-2.0

internal import ReceiptForge
internal import Receipts

/// The time, the place and the scenario of one call.
struct CallContext: Sendable {
    let scenario: Scenario
    /// The beginning of the scenario.
    let start: UTCDate
    let endpoint: Endpoint
    let now: Timestamp
    let edition: Edition

    init(_ state: ScenarioState, number: Int, changes: Int, _ endpoint: Endpoint, _ now: Timestamp) {
        scenario = state.scenario
        start = UTCDate(state.start)
        self.endpoint = endpoint
        self.now = now
        let issue = UTCDate(now).secondsSince1970 / state.scenario.reissueSeconds
        edition = Edition(scenario: number, changes: changes, issue: issue)
    }

    /// The time on the clock of the servers' HTTP: tokens are checked with it, and answers are dated.
    var serverNow: Timestamp { now.advanced(by: .seconds(scenario.clockSkewSeconds)) }
}

/// The period in which an answer does not change, except for the dates of the request.
struct Edition: Hashable, Sendable {
    /// The number of the scenario, counted from 1.
    let scenario: Int
    /// The number of changes to customers.
    let changes: Int
    /// The number of the latest receipts issued in it.
    let issue: Int64
}
