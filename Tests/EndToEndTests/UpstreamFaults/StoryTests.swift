// SPDX-License-Identifier: Apache-2.0

import AppleSimulator
import Testing
import TestSupport

/// Apple's knowledge beyond the receipt, at either of its servers.
@Suite(.timeLimit(.patient)) struct StoryTests {
    private var stage: Stage { .current }

    struct Story: Sendable, CustomTestStringConvertible {
        let name: String
        /// The end of the receipt's period, in days from now.
        let end: Int64
        let state: String
        /// A value that only Apple's answer has.
        let detail: (name: String, value: String)?

        init(_ name: String, endingAfterDays end: Int64 = -3, _ state: String, _ detail: (String, String)? = nil) {
            (self.name, self.end, self.state, self.detail) = (name, end, state, detail)
        }

        var testDescription: String { "\(name), \(end) days: \(state)" }
    }

    @Test(arguments: [
        Story("as_in_receipt", "expired", ("renewal.expiration_intent", "customer_cancelled")),
        Story("renewed", "active", ("renewal.will_renew", "true")),
        Story("renewed", endingAfterDays: 5, "active"),
        Story("will_not_renew", "active", ("renewal.will_renew", "false")),
        Story("in_grace_period", "in_grace_period", ("renewal.is_in_billing_retry_period", "true")),
        Story("in_billing_retry", endingAfterDays: -30, "in_billing_retry"),
        Story("{expired: 2}", "expired", ("renewal.expiration_intent", "billing_error")),
        Story("{expired: 4}", "expired", ("renewal.expiration_intent", "product_unavailable")),
        Story("{refunded: 1}", "revoked", ("cancellation_reason", "1")),
        Story("refunded", endingAfterDays: 5, "revoked", ("cancellation_reason", "0")),
        Story("{upgraded: com.example.gold}", "active", ("product_id", "com.example.gold")),
        Story("upgraded", endingAfterDays: 5, "active", ("product_id", "com.example.app.monthly.upgraded")),
        Story("{switched: com.example.gold}", "in_grace_period", ("renewal.auto_renew_product_id", "com.example.gold")),
        Story("family_shared", endingAfterDays: 5, "active", ("in_app_ownership_type", "FAMILY_SHARED")),
        Story("price_increase", "active", ("renewal.price_consent", "pending")),
        Story("{offer_code: SUMMER}", endingAfterDays: 5, "active", ("offer_code_ref_name", "SUMMER")),
        Story("vpp", "expired"),
        Story("ios6_style", "expired", ("renewal.will_renew", "false")),
        Story("ios6_style", endingAfterDays: 5, "active", ("renewal.will_renew", "true")),
    ])
    func `Apple's knowledge beyond the receipt decides about the subscription`(story: Story) async throws {
        try await withStage("stories: {default: \(story.name)}") { stage in
            let receipt = Sample.receipt(0, endingAfterDays: story.end)
            let verdict = try await stage.verify(receipt, mode: "apple")
            #expect(verdict.isApples && verdict.states == [story.state], "\(verdict)")
            guard let detail = story.detail else { return }
            let subscription = try #require(verdict.subscriptions.first)
            #expect(subscription[detail.name] == detail.value, "\(subscription)")
        }
    }

    @Test(.stage) func `of two renewals for one original transaction the newer product's counts, in either order`()
        async throws
    {
        for seed in 1...8 {
            try stage.play("seed: \(seed)\nstories: {default: {switched: com.example.gold}}")
            let verdict = try await stage.verify(Sample.receipt(seed), mode: "apple")
            #expect(verdict.isApples && verdict.states == ["in_grace_period"], "\(verdict)")
            let subscription = try #require(verdict.subscriptions.first)
            #expect(subscription["product_id"] == "com.example.gold")
            #expect(subscription["renewal.auto_renew_product_id"] == "com.example.gold")
            #expect(subscription["renewal.will_renew"] == "true")
        }
    }

    @Test(.stage) func `a sandbox receipt goes to both endpoints, and does not send others there`() async throws {
        let verdict = try await stage.verify(Sample.receipt(0, type: "ProductionSandbox"))
        #expect(verdict.isApples, "\(verdict)")
        #expect(stage.apple.stats.production == 1 && stage.apple.stats.sandbox == 1)
        #expect(stage.apple.statsDetails.outcomes["production"] == ["status_21007": 1])
        #expect(try await stage.verify(Sample.receipt(1)).isApples)
        #expect(stage.apple.stats.production == 2 && stage.apple.stats.sandbox == 1)
    }
}
