// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

package import Gateway
package import HTTPTypes

extension DegradedReason {
    /// The status of a gateway without an answer.
    package var status: HTTPResponse.Status {
        switch self {
        case .upstreamPaused, .upstreamBudget: .tooManyRequests
        case .upstreamSlow, .upstreamTimeout: .gatewayTimeout
        case .upstreamUnreachable, .upstreamTLS, .upstreamReset, .upstreamUnusableAnswer, .upstreamRequestRefused,
            .upstreamItemUnreadable, .upstreamAnswerTooLarge, .upstreamContradiction, .upstreamCallsMalformed,
            .upstreamDisagrees,
            .upstreamRecordBroken, .sharedSecretRejected, .serverAPIKeyRejected, .customerLimit, .transactionUnknown:
            .badGateway
        case .circuitOpen, .upstreamSaturated, .upstreamServerError, .upstreamUnavailable, .stopping,
            .sharedStoreUnreachable:
            .serviceUnavailable
        }
    }
}
