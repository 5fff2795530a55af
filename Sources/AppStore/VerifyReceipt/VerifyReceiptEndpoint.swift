// SPDX-License-Identifier: Apache-2.0

package import Cryptography
package import HTTPClient
internal import JSON
package import Receipts

/// A client of `verifyReceipt` at one URL. It does not choose the URL or retry.
package struct VerifyReceiptEndpoint: Sendable {
    private let url: String
    private let transport: HTTPTransport
    private let now: @Sendable () -> Timestamp

    /// - Parameter now: returns the time of the answer, for times in its header.
    package init(url: String, transport: HTTPTransport, now: @escaping @Sendable () -> Timestamp) {
        self.url = url
        self.transport = transport
        self.now = now
    }

    package func send(
        _ request: VerifyReceiptRequest, deadline: ContinuousClock.Instant
    ) async throws(VerifyReceiptFailure) -> VerifyReceiptReply {
        let response: TransportResponse
        do throws(TransportError) {
            response = try await transport.send(Self.transportRequest(request, url: url), deadline: deadline)
        } catch {
            throw .transport(error)
        }
        return try VerifyReceiptReply(response, at: now())
    }

    static func transportRequest(_ request: VerifyReceiptRequest, url: String) -> TransportRequest {
        let headers = [
            TransportHeader(name: "Content-Type", value: "application/json"),
            TransportHeader(name: "Accept", value: "application/json"),
        ]
        return TransportRequest(.post, url: url, headers: headers, body: request.body)
    }
}

package struct VerifyReceiptRequest: Sendable, Redacted {
    /// The receipt: PKCS #7 in DER, or an iOS 6 style transaction receipt.
    package var receipt: [UInt8]
    /// `password`: required for receipts with auto-renewable subscriptions.
    package var sharedSecret: Secret?
    /// `exclude-old-transactions`: only the latest transaction of each subscription.
    package var excludesOldTransactions: Bool

    package init(receipt: [UInt8], sharedSecret: Secret? = nil, excludesOldTransactions: Bool = false) {
        self.receipt = receipt
        self.sharedSecret = sharedSecret
        self.excludesOldTransactions = excludesOldTransactions
    }

    /// The body as JSON. It holds the shared secret: send it and discard it.
    package var body: [UInt8] {
        JSONWriter.object(reservingCapacity: receipt.count / 3 * 4 + 256) { json in
            json.key("receipt-data")
            json.string { Base64.append(encoding: receipt, to: &$0) }
            json.member("password", sharedSecret?.exposed)
            if excludesOldTransactions { json.member("exclude-old-transactions", true) }
        }
    }

    /// Returns true if a text must not be shown: it has 8 consecutive bytes of the receipt's base64 or the secret.
    package func isEchoed(in text: String) -> Bool {
        var base64: [UInt8] = []
        Base64.append(encoding: receipt, to: &base64)
        return Echo.isContained(in: text, of: [base64, Array((sharedSecret?.exposed ?? "").utf8)])
    }

    package var description: String { "VerifyReceiptRequest(\(receipt.count) bytes)" }
}
