// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// How much a driven server may ask of the driver, and for how long.
struct DriveLimits: Hashable, Sendable {
    /// From the beginning of a request to the end of its answer; the gateway gives up on Apple long before.
    var maximumWait: Duration = .seconds(30)
    /// Bytes of one answer.
    var maximumAnswerBytes = 16 << 20
    /// The most connections at one time.
    var maximumConnections = 1000
    /// So many failures one after another on a connection, and nobody tries it again.
    var maximumFailuresInARow = 50
}
