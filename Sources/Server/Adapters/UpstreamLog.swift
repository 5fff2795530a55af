// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import AppStore
internal import Gateway
internal import Logging

/// One line for each question to Apple, with Apple's own name for the exchange. Never a receipt, a secret, or an app.
struct UpstreamLog: Sendable {
    /// Where the lines go.
    let logger: Logger

    /// Apple answered, whatever it said.
    func answered(_ reply: VerifyReceiptReply, _ environment: UpstreamEnvironment) {
        var metadata = metadata(environment, reply.head)
        metadata["status"] = "\(reply.response.status.label)"
        metadata["exception"] = reply.response.exception.map {
            "\(String(decoding: $0.utf8.filter { (0x20...0x7E).contains($0) }.prefix(64), as: UTF8.self))"
        }
        let level: Logger.Level =
            switch reply.response.status.meaning {
            case .genuine, .expired, .ask, .accountGone: .debug
            case .malformed, .notAuthenticated, .unavailable: .info
            // Somebody has to do something: the operator about a secret, we about the rest.
            case .credentials: .warning
            case .ourMistake, .unknown: .warning
            }
        logger.log(level: level, "Apple answered", metadata: metadata)
        for fault in reply.head.announcements.faults {
            logger.info("A header of Apple's cannot be read", metadata: ["fault": "\(fault)"])
        }
    }

    /// No answer came, or none that can be used.
    func failed(_ failure: VerifyReceiptFailure, _ environment: UpstreamEnvironment) {
        var metadata = metadata(environment, failure.head)
        switch failure {
        case .transport(let error): metadata["error"] = "\(error)"
        case .throttled: metadata["error"] = "throttled"
        case .serverError: metadata["error"] = "server_error"
        case .unexpectedStatus: metadata["error"] = "unexpected_status"
        case .unusable(let fault, _): metadata["error"] = "\(fault.label)"
        }
        logger.info("Apple did not answer", metadata: metadata)
    }

    private func metadata(_ environment: UpstreamEnvironment, _ head: ReplyHead?) -> Logger.Metadata {
        var metadata: Logger.Metadata = ["upstream": "\(environment.rawValue)"]
        guard let head else { return metadata }
        metadata["http_status"] = .stringConvertible(head.httpStatus)
        metadata["correlation_key"] = head.correlationKey.map { "\($0)" }
        metadata["duration_ms"] = .stringConvertible(head.took / .milliseconds(1))
        return metadata
    }
}
