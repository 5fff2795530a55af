// SPDX-License-Identifier: Apache-2.0

internal import AppStore
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

    package var signedName: String? { "/v1/verify signed" }

    package var mediaType: RequestMediaType? { .json }

    /// Reads strict JSON, then strict base64, from the received bytes.
    package func read(_ body: ByteBuffer) throws -> VerifyInput {
        let bytes = body.readableBytesUInt8Span
        let fields = try VerifyRequestBody(decoding: bytes)
        let subject = try subject(fields.subject, in: bytes)
        var options = fields.options
        options.expectations.deviceIdentifier = try fields.deviceIdentifier.map { text in
            try decode(.deviceIdentifier) { try text.bytes(in: bytes, as: Self.deviceIdentifier) }
        }
        return .request(VerificationRequest(subject, options: options))
    }

    private func subject(_ texts: VerifyRequestBody.SubjectTexts, in bytes: Span<UInt8>) throws -> RequestSubject {
        switch texts {
        case .transactionID(let id): return .transactionID(id)
        case .receipt(let text): return .evidence(try receipt(text, in: bytes))
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

    private func receipt(_ text: Base64Text, in bytes: Span<UInt8>) throws -> Evidence {
        if case .text(let text) = text, JSONText.isJWS(bytes.extracting(text.range)) {
            return .jws(try JSONReader(bytes).jws(text))
        }
        return Evidence(receipt: try decode(.receipt) { try text.receipt(in: bytes) })
    }

    /// Decodes `device_identifier`: the bytes that went into the receipt's hash. iOS and tvOS apps send the UUID of
    /// `identifierForVendor` as text (RFC 9562 §4); macOS apps send the MAC address as base64.
    private static func deviceIdentifier(_ text: Span<UInt8>) throws(Base64Error) -> [UInt8] {
        if let uuid = ASCII.bytes(uuid: text) { return uuid }
        return try Base64.decode(text)
    }

    private func decode(_ field: VerifyRequestBody.Field, _ decode: () throws -> [UInt8]) throws -> [UInt8] {
        do {
            return try decode()
        } catch let error as Base64Error {
            throw Problem(error, error.fault.rawValue, in: field)
        } catch let error as MisplacedInput {
            throw Problem(error, error.rawValue, in: field)
        }
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
