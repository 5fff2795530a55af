// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// A fault of the shared cache. Each counts as a miss. The raw values are those of metrics.
package enum SharedCacheFault: String, Error, CaseIterable, Hashable, Sendable {
    /// A lookup timed out or failed.
    case lookupFailed = "lookup_failed"
    /// A write timed out or failed.
    case insertFailed = "insert_failed"
    /// A value that is not encrypted, or of an unknown version.
    case sealMalformed = "seal_malformed"
    /// A value encrypted with a key this node does not have.
    case sealUnknownKey = "seal_unknown_key"
    /// A value that was changed, or moved from another name.
    case sealInvalid = "seal_invalid"
    /// A decrypted value that is not a cached result.
    case unreadable
    /// A result with a longer freshness or retention than allowed, or from a clock that is hours off.
    case implausibleTimes = "implausible_times"
    /// A result that is too large for Redis.
    case tooLarge = "too_large"
    /// A result that names a purged transaction.
    case purged
    /// A result older than the known purges.
    case purgesUnknown = "purges_unknown"
    /// Redis lacks purges that it had.
    case purgesLost = "purges_lost"
}
