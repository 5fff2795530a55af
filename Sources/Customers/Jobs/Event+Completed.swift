// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Gateway
internal import JSON
package import Receipts

extension Event {
    /// Creates the event about a job that has ended; nil if its app is unknown. Every repetition derives the same ID.
    package init?(completed job: VerificationJob, at now: Timestamp) {
        let result = job.result, environment = result.environment ?? job.lane.environment
        guard let bundleID = result.bundleID, environment.isApples else { return nil }
        let id = Event.id("verification.completed", bundleID: bundleID, environment, cause: [job.id])
        let scope =
            result.originalTransactionIDs.first.map {
                EventScope(PurchaseChain(bundleID: bundleID, environment: environment, originalTransactionID: $0))
            } ?? EventScope(bundleID: bundleID, environment: environment)
        let cause = EventCause(.verification, signedDate: now)
        self.init(.verificationCompleted, id: id, of: scope, at: now, cause) { json in
            json.member("verification_id", job.id)
            json.member("status", job.status.rawValue)
            json.member("verdict", result.verdict)
            json.member("reason", result.reason)
            json.member("is_degraded", result.isDegraded)
        }
    }
}

extension JobLane {
    fileprivate var environment: Environment {
        switch self {
        case .production: .production
        case .sandbox: .sandbox
        }
    }
}
