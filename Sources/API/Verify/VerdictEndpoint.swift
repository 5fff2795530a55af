// SPDX-License-Identifier: Apache-2.0

package import Gateway
package import HTTPServer
internal import JSON
package import NIOCore
package import Receipts

/// `POST /v1/verify`: a receipt, signed transactions or a transaction ID, and one verdict.
package struct VerdictEndpoint: VerifyEndpoint {
    package init() {}

    package var path: String { "/v1/verify" }

    package var defersAnswers: Bool { true }

    package var signsAnswers: Bool { true }

    package var mediaType: RequestMediaType? { .json }

    /// Reads strict JSON, then strict base64, from the received bytes.
    package func read(_ body: ByteBuffer) throws -> VerifyInput {
        let bytes = body.readableBytesUInt8Span
        let fields = try VerifyRequestBody(decoding: bytes)
        let subject = try subject(fields.subject, in: bytes)
        var options = fields.options
        options.expectations.deviceIdentifier = try fields.deviceIdentifier.map { text in
            try Problem.ofField(VerifyRequestBody.Field.deviceIdentifier) {
                try text.bytes(in: bytes, as: Self.deviceIdentifier)
            }
        }
        return .request(VerificationRequest(subject, options: options))
    }

    private func subject(_ texts: VerifyRequestBody.SubjectTexts, in bytes: Span<UInt8>) throws -> RequestSubject {
        switch texts {
        case .transactionID(let id): return .transactionID(id)
        case .receipt(let text):
            return .evidence(try Problem.ofField(VerifyRequestBody.Field.receipt) { try text.evidence(in: bytes) })
        case .signedTransactions(let texts):
            let reader = JSONReader(bytes)
            return .evidence(
                .signedTransactions(
                    SignedTransactions(
                        try texts.transactions.map { try reader.jws($0) },
                        renewalInfos: try texts.renewalInfos.map { try reader.jws($0) },
                        appTransaction: try texts.appTransaction.map { try reader.jws($0) },
                        acceptsPart: texts.acceptsPart)))
        }
    }

    /// Decodes `device_identifier`: the bytes that went into the receipt's hash. iOS and tvOS apps send the UUID of
    /// `identifierForVendor` as text (RFC 9562 §4); macOS apps send the MAC address as base64.
    private static func deviceIdentifier(_ text: Span<UInt8>) throws(Base64Error) -> [UInt8] {
        if let uuid = ASCII.bytes(uuid: text) { return uuid }
        return try Base64.decode(text)
    }

    /// The answer sent again differs only in its provenance.
    package func replies(
        to options: VerificationOptions, with answer: Answer, at now: Timestamp
    ) -> (first: Reply, repeated: Reply) {
        answer.replies(to: options)
    }

    /// Only answers from `verifyReceipt` announce its end: receipts are verified after that day too.
    package func announcesEnd(withAnswerFrom source: Provenance.Source?) -> Bool { source == .apple }
}
