// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// Why a request has no answer.
enum DriveError: Error, Hashable, CustomStringConvertible {
    /// Nobody listens there.
    case notConnected
    /// The connection ended before the answer did.
    case connectionEnded
    /// The answer took longer than a request may take.
    case timeout
    /// The answer is larger than one may be.
    case answerTooLarge
    /// An answer that was needed has another status than 200.
    case status(Int)

    var description: String {
        switch self {
        case .notConnected: "Nobody listens there any more."
        case .connectionEnded: "The connection ended before the answer."
        case .timeout: "There was no answer in time."
        case .answerTooLarge: "The answer is larger than expected."
        case .status(let status): "The answer has HTTP status \(status)."
        }
    }
}
