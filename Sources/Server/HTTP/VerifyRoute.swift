// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Gateway
internal import HTTPTypes
internal import Hummingbird
internal import JSON
internal import Receipts

/// `POST /v1/verify`: one receipt, one verdict.
struct VerifyRoute: Sendable {
    /// Decides.
    let verification: VerificationService
    /// Tells who asks.
    let authenticator: Authenticator
    /// The time, which tests set.
    let clock: @Sendable () -> Timestamp
    /// Counts verdicts.
    let metrics: VerificationMetrics

    /// Reads the request, has it decided, and answers.
    func respond(to request: Request, context: GatewayRequestContext) async throws -> Response {
        let now = clock()
        let client = try authenticator.client(for: request.headers, at: now)
        context.outcome.record { $0.client = client.name }
        guard RequestMediaType.isJSON(request.headers[.contentType]) else { throw Problem.unsupportedMediaType }
        let body = try await request.body.whole()
        context.outcome.record { $0.bodyBytes = body.readableBytes }
        let answer = try await verification.verify(try question(in: body, from: client), at: now)
        metrics.count(answer)
        context.outcome.record { $0.add(answer) }
        var json = JSONWriter(reservingCapacity: 1024 + answer.transactions.count * 640)
        json.answer(answer)
        return Response(json: json.bytes).telling(of: answer, at: now)
    }

    /// Strict JSON, then strict base64, straight from the bytes that came.
    private func question(in body: ByteBuffer, from client: Client) throws -> VerificationRequest {
        let bytes = body.readableBytesUInt8Span
        let fields = try VerifyRequestBody(decoding: bytes)
        var request = VerificationRequest(
            evidence: .appReceipt(try decode(fields.receipt, in: bytes, of: .receipt, as: Base64.decode)),
            permittedApps: client.apps)
        request.expectations.bundleID = fields.bundleID
        request.expectations.applicationVersion = fields.appVersion
        request.expectations.deviceIdentifier = try fields.deviceIdentifier.map { text in
            try decode(text, in: bytes, of: .deviceIdentifier, as: DeviceIdentifier.bytes)
        }
        request.mode = fields.mode
        request.maximumAge = fields.maximumAge
        request.excludesOldTransactions = fields.excludesOldTransactions
        return request
    }

    private func decode(
        _ text: JSONText, in bytes: Span<UInt8>, of field: VerifyRequestBody.Field,
        as decode: (Span<UInt8>) throws(Base64Error) -> [UInt8]
    ) throws -> [UInt8] {
        do {
            return try text.bytes(in: bytes, as: decode)
        } catch let error as Base64Error {
            throw Problem(error, in: field)
        }
    }
}
