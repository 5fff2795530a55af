// SPDX-License-Identifier: Apache-2.0

/// A type and a subtype of version 2. Types that Apple does not have are possible.
package struct NotificationKind: Hashable, Sendable {
    package let type: String
    package let subtype: String?

    package init(_ type: String, _ subtype: String? = nil) {
        self.type = type
        self.subtype = subtype
    }

    /// Returns true for upper-case letters and underscores.
    static func isName(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { (0x41...0x5A).contains($0) || $0 == 0x5F }
    }

    /// True for a notification about the app, not about a customer.
    var isAboutApp: Bool { type == "EXTERNAL_PURCHASE_TOKEN" || self == Self.extensionSummary }

    static let extensionSummary = NotificationKind("RENEWAL_EXTENSION", "SUMMARY")
}

extension NotificationKind {
    /// The `notification_type` of version 1; nil for what it does not notify about.
    var firstVersionType: String? {
        switch (type, subtype) {
        case ("SUBSCRIBED", "RESUBSCRIBE"): "INTERACTIVE_RENEWAL"
        case ("SUBSCRIBED", _): "INITIAL_BUY"
        case ("DID_RENEW", "BILLING_RECOVERY"): "DID_RECOVER"
        // An upgrade cancels the period that it replaces.
        case ("DID_CHANGE_RENEWAL_PREF", "UPGRADE"): "CANCEL"
        case ("PRICE_INCREASE", "PENDING"): "PRICE_INCREASE_CONSENT"
        default: Self.unchangedTypes.contains(type) ? type : nil
        }
    }

    private static let unchangedTypes: Set<String> = [
        "CONSUMPTION_REQUEST", "DID_CHANGE_RENEWAL_PREF", "DID_CHANGE_RENEWAL_STATUS", "DID_FAIL_TO_RENEW",
        "DID_RENEW", "REFUND", "REVOKE",
    ]
}
