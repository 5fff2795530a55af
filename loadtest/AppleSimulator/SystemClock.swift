// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Receipts

/// The clock of this machine.
enum SystemClock {
    static func now() -> Timestamp {
        Timestamp(millisecondsSince1970: Int64(Date().timeIntervalSince1970 * 1000))
    }
}
