// SPDX-License-Identifier: Apache-2.0

internal import Cryptography
internal import Gateway
internal import Logging

/// Logs one line for each call, with Apple's correlation key, and one for each pause of a key, with its app. Never an ID
/// of a purchase, a token or a body.
struct ServerAPILog: Sendable {
    let logger: Logger

    func ended(_ reply: ServerAPIReply, _ head: ReplyHead?, of request: ServerAPIRequest, token: Secret) {
        if let head { logger.reportFaults(of: head) }
        let level = reply.logLevel
        guard logger.logLevel <= level else { return }
        var metadata = Logger.Metadata(request.endpoint, head) { request.isEchoed(in: $0, token) }
        metadata["operation"] = "\(request.call.operation.rawValue)"
        metadata["outcome"] = "\(reply.callOutcome.rawValue)"
        if case .refused(let error, _, _) = reply { metadata["error_code"] = .stringConvertible(error.code) }
        if case .failed(let failure, _) = reply { metadata["error"] = "\(failure.rawValue)" }
        logger.log(level: level, head == nil ? "Apple did not answer" : "Apple answered", metadata: metadata)
    }

    func rejected(_ subject: KeyPauses.Subject, pause: Duration) {
        logger.error(
            "Apple rejects a key of the App Store Server API. Replace the key, or check its issuer ID and key ID",
            metadata: [
                "key_id": "\(subject.key.keyID)", "bundle_id": "\(subject.bundleID)",
                "upstream": "\(subject.environment.rawValue)",
                "pause_seconds": .stringConvertible(pause.components.seconds),
            ])
    }

    func report(_ report: ClockSkew.Report, in environment: UpstreamEnvironment) {
        var metadata = Logger.Metadata(UpstreamEndpoint(.serverAPI, environment))
        switch report {
        case .exceeds(let skew):
            metadata["skew_seconds"] = .stringConvertible(skew.components.seconds)
            logger.warning(
                "This node's clock differs from Apple's. Tokens are corrected; synchronise the clock",
                metadata: metadata)
        case .ended: logger.info("This node's clock agrees with Apple's again", metadata: metadata)
        }
    }
}

extension ServerAPIRequest {
    /// Returns true if a text must not be shown: it repeats a part of the request.
    fileprivate func isEchoed(in text: String, _ token: Secret) -> Bool {
        let sent = [call.path, call.query ?? "", token.exposed].map { Array($0.utf8) }
        return Echo.isContained(in: text, of: sent + [call.body]) || text.contains(bundleID)
    }
}

extension ServerAPIReply {
    /// A 401 is usual for an app that was never released in this environment.
    fileprivate var logLevel: Logger.Level {
        switch self {
        case .answered, .unauthorized, .refused(_, httpStatus: 404, _): .debug
        default: .info
        }
    }
}
