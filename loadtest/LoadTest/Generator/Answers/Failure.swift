// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// Why a request has no answer; the raw values stand in results.
enum Failure: String, CaseIterable, Codable, Sendable {
    /// Not within the time that a request may take.
    case timeout
    /// The connection ended before the answer did.
    case connectionEnded = "connection_ended"
    /// What came is no answer in HTTP/1.1, or more than one may be.
    case badAnswer = "bad_answer"
    /// No connection was free in that time: all waited for answers, or none could be made. The request was not sent.
    case noConnection = "no_connection"
    /// More requests waited for a connection than may. The request was not sent.
    case queueFull = "queue_full"
}
