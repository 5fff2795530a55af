// SPDX-License-Identifier: Apache-2.0

import Customers
import Receipts

/// Keys of webhooks, and events for them.
enum WebhookSamples {
    /// 24 bytes, of the documentation of Standard Webhooks.
    static let key = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    static let otherKey = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
    static let thirdKey = "whsec_ICEiIyQlJicoKSorLC0uLzAxMjM0NTY3ODk6Ozw9Pj9AQUJDREVGR0hJSktMTU5P"
    static let signingKey = "whsk_ZGVmZ2hpamtsbW5vcHFyc3R1dnd4eXp7fH1+f4CBgoM="

    static let app = "com.example.forge"

    /// Returns an event about a chain of its own.
    static func event(_ number: Int) -> Event {
        let id = Event.id("period", bundleID: app, .sandbox, cause: ["\(number)"])
        return Event(
            id: id, type: .subscriptionRenewed, bundleID: app, environment: .sandbox,
            originalTransactionID: "\(2000 + number)", occurredAt: SignedSamples.now,
            json: Array(#"{"id":"\#(id)","type":"subscription.renewed","timestamp":"x","data":{}}"#.utf8))
    }
}
