// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Gateway
internal import JSON
package import Receipts

extension Event {
    /// Creates the event about a purchase that many accounts use. It has their number, and none of their IDs.
    package init(suspecting claim: OwnershipClaim, usedBy accounts: Int, within window: Duration, at now: Timestamp) {
        let chain = claim.chain
        let key = [chain.originalTransactionID, String(now.millisecondsSince1970)]
        self.init(
            .fraudSuspected,
            id: Event.id("fraud", bundleID: chain.bundleID, chain.environment, cause: key), of: EventScope(chain),
            at: now, EventCause(.verification, signedDate: now)
        ) { json in
            if claim.isFamilyShared {
                json.member("in_app_ownership_type", Transaction.Ownership.familyShared.rawValue)
            }
            json.member("account_count", accounts)
            json.member("window_seconds", window.components.seconds)
        }
    }
}
