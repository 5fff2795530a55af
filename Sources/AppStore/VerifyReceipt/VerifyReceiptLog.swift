// SPDX-License-Identifier: Apache-2.0

internal import Gateway
internal import Logging

/// Logs one line for each request to Apple, with Apple's correlation key. Never a receipt, a secret, or an app.
struct VerifyReceiptLog: Sendable {
    let logger: Logger

    func answered(_ reply: VerifyReceiptReply, to request: VerifyReceiptRequest, _ endpoint: UpstreamEndpoint) {
        let level: Logger.Level =
            switch reply.response.status {
            case .valid, .subscriptionExpired, .sandboxReceipt, .productionReceipt, .accountNotFound: .debug
            case .malformedOrTemporary, .notAuthenticated, .serverUnavailable, .dataAccess, .internalDataAccess: .info
            // An action is needed: by the operator for a secret, by the developers for the other statuses.
            case .wrongSharedSecret, .notPOST, .discontinued, .unknown: .warning
            }
        for fault in reply.head.announcements.faults {
            logger.info("Cannot parse a header of Apple's response", metadata: ["fault": "\(fault)"])
        }
        guard logger.logLevel <= level else { return }
        var metadata = metadata(endpoint, reply.head, request)
        metadata["status"] = "\(reply.response.status.label)"
        metadata["exception"] = reply.response.exception.map { exception in
            let visible = exception.utf8.filter { (0x20...0x7E).contains($0) }.prefix(64)
            return quoted(String(decoding: visible, as: UTF8.self), request)
        }
        logger.log(level: level, "Apple answered", metadata: metadata)
    }

    func failed(_ failure: VerifyReceiptFailure, about request: VerifyReceiptRequest, _ endpoint: UpstreamEndpoint) {
        guard logger.logLevel <= .info else { return }
        var metadata = metadata(endpoint, failure.head, request)
        switch failure {
        case .transport(let error): metadata["error"] = "\(error)"
        case .throttled: metadata["error"] = "throttled"
        case .serverError: metadata["error"] = "server_error"
        case .unexpectedStatus: metadata["error"] = "unexpected_status"
        case .unusable(let fault, _): metadata["error"] = "\(fault.label)"
        }
        logger.info("Apple did not answer", metadata: metadata)
    }

    private func metadata(
        _ endpoint: UpstreamEndpoint, _ head: ReplyHead?, _ request: VerifyReceiptRequest
    ) -> Logger.Metadata {
        var metadata: Logger.Metadata = [
            "api": "\(endpoint.api.rawValue)", "upstream": "\(endpoint.environment.rawValue)",
        ]
        guard let head else { return metadata }
        metadata["http_status"] = .stringConvertible(head.httpStatus)
        metadata["correlation_key"] = head.correlationKey.map { quoted($0, request) }
        metadata["duration_ms"] = .stringConvertible(head.took / .milliseconds(1))
        return metadata
    }

    /// Returns a text from the response, unless it echoes the request, as proxies and error pages do.
    private func quoted(_ text: String, _ request: VerifyReceiptRequest) -> Logger.MetadataValue {
        request.isEchoed(in: text) ? "(contains request data)" : "\(text)"
    }
}
