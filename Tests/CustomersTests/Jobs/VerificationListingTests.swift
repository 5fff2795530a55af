// SPDX-License-Identifier: Apache-2.0

import Customers
import Foundation
import Gateway
import Receipts
import Testing

@testable import RedisStore
@testable import Server
@testable import ServerTestSupport

/// `verifications list` and `verifications show`.
struct VerificationListingTests {
    private static let created = Timestamp(millisecondsSince1970: 1_795_262_400_000)

    private static func job(_ id: String, _ status: JobStatus = .waiting) -> VerificationJob {
        VerificationJob(
            id: id, client: "shop", createdAt: created, deadline: created.advanced(by: .seconds(3600)),
            lane: .production, request: nil, status: status, attempts: 2,
            nextAttempt: status == .waiting ? created.advanced(by: .seconds(60)) : nil,
            result: JobResult(
                json: Array(#"{"verdict":"undecided"}"#.utf8), verdict: "undecided",
                reason: "upstream_did_not_answer"))
    }

    private static func listing(
        _ jobs: [VerificationJob], _ status: JobStatus, maximum: Int
    ) -> LimitedListing<VerificationJob> {
        LimitedListing(jobs, maximum: maximum, none: ListVerificationsCommand.none(of: status))
    }

    @Test func `each verification is a row, with its client and its answer so far`() {
        let listing = Self.listing([Self.job("ver_a"), Self.job("ver_b")], .waiting, maximum: 2)
        let lines = listing.text.split(separator: "\n")
        #expect(lines.count == 3 && lines[0].hasPrefix("CREATED"))
        #expect(lines[1].contains("shop") && lines[1].contains("undecided upstream_did_not_answer"))
        #expect(lines[1].hasSuffix("ver_a") && lines[2].hasSuffix("ver_b"))
        #expect(listing.remark.isEmpty)
    }

    @Test func `more than the maximum are remarked, and none too`() {
        let listing = Self.listing([Self.job("ver_a"), Self.job("ver_b")], .failed, maximum: 1)
        #expect(!listing.text.contains("ver_b") && listing.remark == "There are more. Raise --limit.\n")
        // One more than the highest limit.
        #expect(RedisJobStore.Limits.listed > ListVerificationsCommand.Limits.count.upperBound)
        let empty = Self.listing([], .failed, maximum: 1)
        #expect(empty.text.isEmpty && empty.remark.contains("failed"))
    }

    @Test func `a line of JSON has the answer and the client`() throws {
        let listing = Self.listing([Self.job("ver_a"), Self.job("ver_b", .done)], .waiting, maximum: 9)
        let objects = listing.json.split(separator: "\n").compactMap { String($0).jsonMembers }
        #expect(objects.count == 2)
        #expect(objects[0]["client"] as? String == "shop" && objects[0]["attempts"] as? Int == 2)
        #expect((objects[0]["answer"] as? [String: Any])?["verdict"] as? String == "undecided")
        #expect(objects[1]["next_attempt_at"] is NSNull && objects[1]["status"] as? String == "done")
    }
}
