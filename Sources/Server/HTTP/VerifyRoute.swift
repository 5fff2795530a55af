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
        return Response(json: json.bytes)
    }

    /// Strict JSON, then strict base64, straight from the bytes that came.
    private func question(in body: ByteBuffer, from client: Client) throws -> VerificationRequest {
        let bytes = body.readableBytesUInt8Span
        let fields = try VerifyRequestBody(decoding: bytes)
        var request = VerificationRequest(
            evidence: .appReceipt(try decodeBase64(fields.receipt, in: bytes, of: .receipt)),
            permittedApps: PermittedApps(client.apps))
        request.expectations.bundleID = fields.bundleID
        request.expectations.applicationVersion = fields.appVersion
        request.expectations.deviceIdentifier = try fields.deviceIdentifier.map { text in
            try decodeDeviceIdentifier(text, in: bytes)
        }
        request.mode = fields.mode
        request.maximumAge = fields.maximumAge
        request.excludesOldTransactions = fields.excludesOldTransactions
        return request
    }

    private func decodeBase64(
        _ text: JSONText, in bytes: Span<UInt8>, of field: VerifyRequestBody.Field
    ) throws -> [UInt8] {
        do throws(Base64Error) {
            guard text.isEscaped else { return try Base64.decode(bytes.extracting(text.range)) }
        } catch {
            throw Problem(error, in: field)
        }
        let unescaped = try JSONReader(bytes).unescaped(text)
        do throws(Base64Error) {
            return try Base64.decode(unescaped.span)
        } catch {
            throw Problem(error, in: field)
        }
    }

    private func decodeDeviceIdentifier(_ text: JSONText, in bytes: Span<UInt8>) throws -> [UInt8] {
        let unescaped = try JSONReader(bytes).unescaped(text)
        do throws(Base64Error) {
            return try DeviceIdentifier.bytes(unescaped)
        } catch {
            throw Problem(error, in: .deviceIdentifier)
        }
    }
}

// MARK: - Words of the gateway

extension PermittedApps {
    fileprivate init(_ apps: Client.Apps) {
        switch apps {
        case .all: self = .all
        case .only(let bundleIDs): self = .only(bundleIDs)
        }
    }
}

extension RequestOutcome.Facts {
    fileprivate mutating func add(_ answer: Answer) {
        (verdict, reason) = (answer.verdict.name, answer.verdict.reason)
        (source, cache) = (answer.provenance.source.rawValue, answer.provenance.cache.rawValue)
    }
}

extension RequestBody {
    /// The whole body. The edge hands over complete bodies as one buffer, so nothing is copied.
    fileprivate func whole() async throws -> ByteBuffer {
        var whole = ByteBuffer()
        for try await part in self {
            if whole.readableBytes == 0 { whole = part } else { whole.writeImmutableBuffer(part) }
        }
        return whole
    }
}
