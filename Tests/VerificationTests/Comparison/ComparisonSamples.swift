// SPDX-License-Identifier: Apache-2.0

import Gateway
import Receipts

@testable import RedisStore
@testable import ServerTestSupport

/// Results of comparisons for tests.
enum ComparisonSamples {
    static let renewed = ComparisonKind(.state, "active", "expired")
    static let missing = ComparisonKind(.transaction, "present", "absent")
    /// 2026-11-21T12:00:00Z
    static let now = Timestamp(millisecondsSince1970: 1_795_262_400_000)

    static func time(days: Int64) -> Timestamp { now.advanced(by: .seconds(days * 86_400)) }

    static func example(_ product: String = "monthly", hour: Timestamp = now) -> ComparisonExample {
        var example = ComparisonExample(hour: hour, evidence: .appReceipt)
        (example.bundleID, example.productID, example.environment) = ("com.example.shop", product, .production)
        (example.age, example.seconds) = (7, -3600)
        return example
    }

    static func tally(_ change: (inout ComparisonTally) -> Void) -> ComparisonTally {
        var tally = ComparisonTally()
        change(&tally)
        return tally
    }
}

extension NotificationStage {
    func comparisons(
        keys: String = StoreSamples.firstKey, observe: @escaping @Sendable (SharedCacheFault) -> Void = { _ in }
    ) -> RedisComparisons {
        RedisComparisons(redis, keys: StoreSamples.keys(keys), observe: observe)
    }
}
