// SPDX-License-Identifier: Apache-2.0

internal import Cryptography
internal import Gateway
internal import Logging

/// Logs one line for each call, with Apple's correlation key, and one for each pause of a key, with its app. Never an ID
/// of a purchase, a token or a body.
struct ServerAPILog: Sendable {
    let logger: Logger

    func ended(_ reply: ServerAPIReply, _ head: ReplyHead?, of request: ServerAPIRequest, token: Secret) {
        for fault in head?.announcements.faults ?? [] {
            logger.info("Cannot parse a header of Apple's response", metadata: ["fault": "\(fault)"])
        }
        let level = reply.logLevel
        guard logger.logLevel <= level else { return }
        var metadata: Logger.Metadata = [
            "api": "\(UpstreamAPI.serverAPI.rawValue)", "upstream": "\(request.environment.rawValue)",
            "operation": "\(request.call.operation.rawValue)", "outcome": "\(reply.callOutcome.rawValue)",
        ]
        if case .refused(let error, _, _) = reply { metadata["error_code"] = .stringConvertible(error.code) }
        if case .failed(let failure, _) = reply { metadata["error"] = "\(failure.rawValue)" }
        if let head {
            metadata["http_status"] = .stringConvertible(head.httpStatus)
            metadata["duration_ms"] = .stringConvertible(head.took / .milliseconds(1))
            metadata["correlation_key"] = head.correlationKey.map { quoted($0, request, token) }
        }
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
        let upstream: Logger.Metadata = [
            "api": "\(UpstreamAPI.serverAPI.rawValue)", "upstream": "\(environment.rawValue)",
        ]
        switch report {
        case .exceeds(let skew):
            let seconds: Logger.MetadataValue = .stringConvertible(skew.components.seconds)
            logger.warning(
                "This node's clock differs from Apple's. Tokens are corrected; synchronise the clock",
                metadata: upstream.merging(["skew_seconds": seconds]) { own, _ in own })
        case .ended: logger.info("This node's clock agrees with Apple's again", metadata: upstream)
        }
    }

    /// Returns a text from the response, unless it echoes the request, as proxies do.
    private func quoted(_ text: String, _ request: ServerAPIRequest, _ token: Secret) -> Logger.MetadataValue {
        let sent = [request.call.path, request.call.query ?? "", token.exposed].map { Array($0.utf8) }
        let isEchoed = Echo.isContained(in: text, of: sent + [request.call.body])
        return isEchoed || text.contains(request.bundleID) ? "(contains request data)" : "\(text)"
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
