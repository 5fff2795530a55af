// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// Why something of the shared cache was of no use. Each is a miss, and counted. The raw values are those of metrics.
package enum SharedCacheFault: String, Error, CaseIterable, Hashable, Sendable {
    /// The store did not answer in time, or with an error, when something was looked up.
    case lookupFailed = "lookup_failed"
    /// The same, when something was to be kept.
    case insertFailed = "insert_failed"
    /// A value that is no sealed value, or not of a version this node knows.
    case sealMalformed = "seal_malformed"
    /// A value that was sealed with a key this node does not have.
    case sealUnknownKey = "seal_unknown_key"
    /// A value that was changed, or lay under a name it was not sealed for.
    case sealInvalid = "seal_invalid"
    /// A value that was opened, and is no finding.
    case unreadable
    /// A finding that is fresh, or kept, for longer than any may be, or from a clock that is hours away.
    case implausibleTimes = "implausible_times"
    /// A finding that is too large for the store.
    case tooLarge = "too_large"
    /// A finding that names a purged transaction.
    case purged
    /// A finding from before the purges that are known.
    case purgesUnknown = "purges_unknown"
    /// The store lacks purges that it had.
    case purgesLost = "purges_lost"
}

extension SharedCacheFault {
    init(_ fault: StoreSeal.Fault) {
        self =
            switch fault {
            case .malformed: .sealMalformed
            case .unknownKey: .sealUnknownKey
            case .notAuthentic: .sealInvalid
            }
    }
}
