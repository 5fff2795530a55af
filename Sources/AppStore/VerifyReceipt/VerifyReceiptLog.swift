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
        logger.reportFaults(of: reply.head)
        guard logger.logLevel <= level else { return }
        var metadata = Logger.Metadata(endpoint, reply.head, isEchoed: request.isEchoed)
        metadata["status"] = "\(reply.response.status.label)"
        metadata["exception"] = reply.response.exception.map { exception in
            let visible = exception.utf8.filter { (0x20...0x7E).contains($0) }.prefix(64)
            return .quoted(String(decoding: visible, as: UTF8.self), isEchoed: request.isEchoed)
        }
        logger.log(level: level, "Apple answered", metadata: metadata)
    }

    func failed(_ failure: VerifyReceiptFailure, about request: VerifyReceiptRequest, _ endpoint: UpstreamEndpoint) {
        guard logger.logLevel <= .info else { return }
        var metadata = Logger.Metadata(endpoint, failure.head, isEchoed: request.isEchoed)
        switch failure {
        case .transport(let error): metadata["error"] = "\(error)"
        case .throttled: metadata["error"] = "throttled"
        case .serverError: metadata["error"] = "server_error"
        case .unexpectedStatus: metadata["error"] = "unexpected_status"
        case .unusable(let fault, _): metadata["error"] = "\(fault.label)"
        }
        logger.info("Apple did not answer", metadata: metadata)
    }
}

// MARK: - Lines about any call

extension Logger {
    func reportFaults(of head: ReplyHead) {
        for fault in head.announcements.faults {
            info("Cannot parse a header of Apple's response", metadata: ["fault": "\(fault)"])
        }
    }
}

extension Logger.Metadata {
    init(_ endpoint: UpstreamEndpoint) {
        self = ["api": "\(endpoint.api.rawValue)", "upstream": "\(endpoint.environment.rawValue)"]
    }

    /// - Parameter isEchoed: returns true for a text of the response that repeats a part of the request.
    init(_ endpoint: UpstreamEndpoint, _ head: ReplyHead?, isEchoed: (String) -> Bool) {
        self.init(endpoint)
        guard let head else { return }
        self["http_status"] = .stringConvertible(head.httpStatus)
        self["correlation_key"] = head.correlationKey.map { .quoted($0, isEchoed: isEchoed) }
        self["duration_ms"] = .stringConvertible(head.took / .milliseconds(1))
    }
}

extension Logger.MetadataValue {
    /// Returns a text from the response, unless it echoes the request, as proxies and error pages do.
    static func quoted(_ text: String, isEchoed: (String) -> Bool) -> Logger.MetadataValue {
        isEchoed(text) ? "(contains request data)" : "\(text)"
    }
}
