// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import AppStore
internal import Gateway
internal import Logging

/// The log of changes that clients requested of Apple: one line each, with the client and Apple's answer. No line has a
/// transaction ID or a body.
struct AppleWriteAudit: Sendable {
    /// The outcome of the purge after a change.
    enum Purge: String, Sendable {
        case done
        /// The shared store did not confirm it: cached results are used until they expire.
        case failed
    }

    private let logger: Logger

    /// - Parameter logger: the logger of the lines, whatever its level.
    init(_ logger: Logger) {
        var logger = logger
        logger.logLevel = .trace
        self.logger = logger
    }

    func record(_ request: ServerAPIRequest, of client: String, _ result: ServerAPIResult, _ purge: Purge?) {
        var metadata: Logger.Metadata = [
            "client": "\(client)", "operation": "\(request.call.operation.rawValue)",
            "environment": "\(request.environment.rawValue)", "bundle_id": "\(request.bundleID)",
            "outcome": "\(result.outcome)",
        ]
        metadata["http_status"] = result.httpStatus.map { .stringConvertible($0) }
        metadata["error_code"] = result.errorCode.map { .stringConvertible($0) }
        metadata["purge"] = purge.map { "\($0.rawValue)" }
        logger.notice("Change requested of Apple", metadata: metadata)
    }
}

extension ServerAPIResult {
    /// The word of the metrics if Apple answered, else the reason, which is more exact than they are.
    fileprivate var outcome: String {
        switch self {
        case .answered: ServerAPICallOutcome.answered.rawValue
        case .refused(_, httpStatus: 404, _): ServerAPICallOutcome.notFound.rawValue
        case .refused: ServerAPICallOutcome.refused.rawValue
        case .unauthorized: ServerAPICallOutcome.unauthorized.rawValue
        case .unanswered(let reason, _, _): reason.rawValue
        }
    }

    /// Apple's status; nil if its answer is neither passed on nor a 401.
    fileprivate var httpStatus: Int? {
        switch self {
        case .answered(let answer): answer.httpStatus
        case .refused(_, let httpStatus, _): httpStatus
        case .unauthorized: 401
        case .unanswered: nil
        }
    }

    fileprivate var errorCode: Int64? {
        if case .refused(let error, _, _) = self { error.code } else { nil }
    }
}
