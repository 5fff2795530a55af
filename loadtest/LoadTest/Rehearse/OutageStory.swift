// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import AppleSimulator

/// The bad day of Apple's that is rehearsed where no scenario is named: 24 January 2020, when for an hour almost every
/// second call failed with 50x, then for hours every call was answered with 200 and a page of HTML; then it was over.
/// See loadtest/scenarios/outage-2020-01-24.yaml.
struct OutageStory: Hashable, Sendable {
    /// How long the day is, in seconds.
    let duration: Double

    /// A sixth each of peace and of errors, a third of pages, and a third of recovery.
    func scenario() throws(ScenarioError) -> Scenario {
        try Scenario(yaml: yaml)
    }

    /// A phase takes its share of what earlier phases left over: the 502s are a third of all calls, the 504s a little
    /// more than a tenth.
    var yaml: String {
        let (errors, pages, peace) = (duration / 6, duration / 3, 2 * duration / 3)
        return """
            seed: 20200124
            stories: {default: renewed}
            faults:
              - {from: \(errors), to: \(pages), share: 0.33, fault: {http_status: 502}}
              - {from: \(errors), to: \(pages), share: 0.18, fault: {http_status: 504}}
              - {from: \(pages), to: \(peace), fault: html}
              - {from: \(errors), to: \(peace), latency: {lognormal: {median: 0.6, sigma: 0.9, cap: 20}}}
              - {latency: {lognormal: {median: 0.12, sigma: 0.6, cap: 10}}}
            """
    }
}
