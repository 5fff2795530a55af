// SPDX-License-Identifier: Apache-2.0

import Receipts
import Testing

@testable import Customers
@testable import Server

struct DeadNotificationListingTests {
    private static let time = Timestamp(millisecondsSince1970: 1_795_262_400_000)

    private static func dead(_ reason: String, record: NotificationRecord? = nil) -> DeadNotification {
        DeadNotification(bundleID: "com.example.shop", time: time, reason: reason, storedBytes: 7, record: record)
    }

    private static let readable = dead(
        "not_genuine",
        record: NotificationRecord(.v2, Array("secret".utf8), receivedAt: time.advanced(by: .seconds(-60))))

    private static func listing(_ dead: [DeadNotification], maximum: Int) -> LimitedListing<DeadNotification> {
        LimitedListing(dead, maximum: maximum, none: "none")
    }

    @Test func `a row has what is known, and nothing that Apple signed`() {
        let listing = Self.listing([Self.readable, Self.dead("unreadable\u{1B}")], maximum: 2)
        #expect(
            listing.text == """
                GIVEN UP              APP               REASON            VERSION  ARRIVED               BYTES
                2026-11-21T12:00:00Z  com.example.shop  not_genuine       v2       2026-11-21T11:59:00Z  7
                2026-11-21T12:00:00Z  com.example.shop  unreadable\\u{1B}  -        -                     7

                """)
        #expect(!listing.json.contains("secret") && listing.remark.isEmpty)
        #expect(
            listing.json.split(separator: "\n").last
                == #"{"given_up_at":"2026-11-21T12:00:00Z","bundle_id":"com.example.shop","reason":"unreadable\u001b","stored_bytes":7}"#
        )
    }

    @Test func `dead letters beyond the maximum are counted out loud`() {
        let listing = Self.listing([Self.readable, Self.readable], maximum: 1)
        #expect(listing.json.split(separator: "\n").count == 1 && listing.remark.contains("--limit"))
        #expect(Self.listing([], maximum: 1).text.isEmpty)
    }
}
