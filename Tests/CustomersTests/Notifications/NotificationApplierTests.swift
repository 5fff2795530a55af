// SPDX-License-Identifier: Apache-2.0

import Gateway
import ReceiptForge
import Testing
import TestSupport

@testable import Customers
@testable import ServerTestSupport

/// The wake-ups of the task that applies stored notifications.
@Suite(.timeLimit(.patient)) struct NotificationApplierTests {
    // Without apps there are no surveys, which would find the notification as well.
    @Test func `a notification that is stored while the applier does not wait is applied`() async throws {
        let story = CustomerStory(seed: 7, events: 1, bundleID: StoreSamples.bundleID), now = story.end
        let store = EmbeddedNotificationStore(isPermitted: true, maximumBytes: 1 << 20) { now }
        let applier = NotificationApplier(
            queue: store, states: store, purging: EmbeddedUpstreamCache(maximumBytes: 0).purges.purge,
            verifier: .ofAllApps, apps: { [] }, refresh: { _ in }, observe: { _ in }, onEvents: { _ in },
            onSurvey: { _, _ in }, clock: { now })
        let intake = NotificationIntake(
            .ofAllApps, queue: store, observe: { _ in }, onStored: { applier.announce($0) })
        let payload = story.events[0].jws(signedBy: SignedSamples.pki)
        #expect(try await intake.accept(signedPayload: payload, at: now) == .stored)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await applier.run() }
            defer { group.cancelAll() }
            try await eventually {
                AppPartition.all(of: StoreSamples.bundleID).allSatisfy { store.survey($0)?.entries == 0 }
            }
        }
    }
}
