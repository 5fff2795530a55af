// SPDX-License-Identifier: Apache-2.0

import Foundation
import RealServers
import Testing
import TestSupport

/// A Redis that ends, and comes back from its append-only file, from an older copy, or with nothing: what docs/redis.md says
/// is lost, and what the gateways do then.
@Suite(.serialized, .timeLimit(.patient)) struct RestoreTests {
    @Test func `an append-only file loses nothing, and readers, endpoints and nodes go on`() async throws {
        try await RestoreDrill.run(["--appendonly", "yes"]) { drill in
            let known = try await drill.liveAfterTheCopy()
            drill.stage.redis.kill()
            try await drill.stage.redis.start()
            try await drill.becomesReadable()

            let page = try await drill.read(after: known.cursor)
            #expect(page.ids.isDisjoint(with: known.log) && !page.isIncomplete, "\(page)")
            #expect(try await drill.log().ids.isSuperset(of: known.log))
            for job in [drill.waitingJob, known.laterJob] { #expect(try await drill.status(ofJob: job) == "done") }
            let owner = try await drill.ownership(of: RestoreDrill.owned, by: "bob")
            #expect(owner == "same", "\(owner ?? "unknown")")
            #expect(try await drill.state(of: RestoreDrill.refunded) == "revoked")
            #expect(try await drill.erased(RestoreDrill.erased) == 0)
            try drill.stage.fleet.notify("DID_RENEW", about: 1..<2)
            try await eventually("the next event follows the cursor, and is delivered") {
                let renewal = RestoreDrill.Change("subscription.renewed", of: 1)
                let ids = try await drill.read(after: known.cursor).ids(of: [renewal])
                return try ids.count == 1 && drill.delivered().ids.isSuperset(of: ids)
            }
        }
    }

    @Test func `an older copy lacks what came later, and Apple's history brings the events again with their IDs`()
        async throws
    {
        try await RestoreDrill.run { drill in
            let copy = try drill.copy()
            let known = try await drill.liveAfterTheCopy()
            try await drill.restore(copy)
            for node in drill.stage.fleet.nodes { try await node.start() }

            // The copy has the result from before the refund, and lacks the purge.
            #expect(try await drill.state(of: RestoreDrill.refunded) == "revoked")
            #expect(try await drill.read(after: known.cursor).isIncomplete)
            #expect(try await drill.status(ofJob: known.laterJob) == nil)
            #expect(try await drill.ownership(of: RestoreDrill.owned, by: "alice") == "same")
            // What was erased after the copy is back, and is erased again.
            #expect(try await drill.erased(RestoreDrill.erased) > 0)

            try await eventually("Apple's history is read, and the waiting verification is done") {
                try await drill.read(after: known.cursor).ids.isSuperset(of: known.later)
            }
            #expect(try await drill.status(ofJob: drill.waitingJob) == "done")
            try await eventually("these events are delivered again") {
                try drill.repeatedDeliveries() >= known.later.count
            }
            // Their IDs are known to the endpoint.
            #expect(try drill.deliveredLater() == known.later)
        }
    }

    @Test func `with nothing left, nodes that run read Apple's history, and deferred verifications are gone`()
        async throws
    {
        try await RestoreDrill.run { drill in
            let known = try await drill.liveAfterTheCopy()
            drill.stage.redis.kill()
            try await drill.stage.redis.start()
            try await drill.becomesReadable()

            #expect(try await drill.state(of: RestoreDrill.refunded) == "revoked")
            for job in [drill.waitingJob, known.laterJob] { #expect(try await drill.status(ofJob: job) == nil) }
            try await eventually("all events of notifications are there again") {
                let page = try await drill.read(after: known.cursor)
                return page.isIncomplete && page.ids.isSuperset(of: known.ofNotifications)
            }
            #expect(try await drill.ownership(of: RestoreDrill.owned, by: "carol") == "first_seen")
        }
    }
}
