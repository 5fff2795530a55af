// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import NIOCore
internal import Receipts

/// A `status`, and its JSON.
struct StoreAnswer: Sendable {
    let status: Int
    let body: ByteBuffer

    /// Returns an answer without a receipt.
    static func status(
        _ status: Int, environment: Environment? = nil, _ retryable: ServerFault.Retryable? = nil
    ) -> StoreAnswer {
        var json = JSONText()
        json.object { answer in
            answer.member("status", status)
            if let environment { answer.member("environment", environment.rawValue) }
            if let retryable { answer.member(retryable.name, literal: retryable.literal) }
        }
        return StoreAnswer(status: status, body: ByteBuffer(bytes: json.bytes))
    }

    /// Returns the answer to anything but a genuine receipt. Apple names the environment with 21003, not with 21002.
    static func refusal(of subject: ReceiptRequest.Subject, at endpoint: Endpoint) -> StoreAnswer {
        if case .malformed = subject { return .status(21002) }
        return .status(21003, environment: endpoint.environment)
    }
}

extension ServerFault {
    /// The deviation of an answer to a genuine receipt; nil for faults that leave its JSON unchanged.
    var deviation: GenuineAnswer.Deviation? {
        switch self {
        case .receiptStatus(let status) where status.hasReceipt: .init(status: status)
        case .tampered(let tampering): .init(tampering: tampering)
        case .wrongEnvironment: .init(hasWrongEnvironment: true)
        case .latestReceipt(let replacement): .init(latestReceipt: replacement)
        default: nil
        }
    }
}

extension [UInt8] {
    /// Base64 (RFC 4648 §4), on one line.
    var base64: String { Data(self).base64EncodedString() }
}
