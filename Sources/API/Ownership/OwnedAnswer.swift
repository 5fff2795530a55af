// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Clients
internal import Customers
internal import Gateway
internal import HTTPServer
internal import JSON

/// An answer as the client gets it, and the relation of the account to its purchases.
struct OwnedAnswer: Sendable {
    /// Rejected if the client rejects purchases of other accounts.
    var answer: Answer
    /// Nil unless the verdict was genuine and the request names an account.
    var ownership: Ownership?
}

extension OwnershipCheck? {
    /// True for an answer whose purchases are to be checked: a genuine answer to a request with an account.
    func concerns(_ answer: Answer, for account: Account?) -> Bool {
        self != nil && account != nil && answer.verdict == .genuine
    }

    /// Checks the purchases of an answer; returns an answer that is not to be checked as it is.
    func check(_ answer: Answer, for account: Account?, of client: Client) async -> OwnedAnswer {
        guard let self, let account, concerns(answer, for: account) else { return OwnedAnswer(answer: answer) }
        let decision = await self.ownership(of: answer.ownershipClaims, account: account, client: client)
        return OwnedAnswer(
            answer: decision.isRejected ? answer.rejectedForAccount : answer, ownership: decision.ownership)
    }
}

extension Reply {
    /// Adds the member `ownership` to the body of an answer, as the first member; nothing for nil.
    mutating func addOwnership(_ ownership: Ownership?) {
        guard let ownership else { return }
        var json = JSONWriter(reservingCapacity: body.count + 32)
        json.object { json in
            json.member("ownership", ownership.rawValue)
            json.members(body.bytes.dropFirst().dropLast())
        }
        body = ReplyBody(json.bytes)
    }
}

/// The purchases of a cached answer to a request with an account, which are checked each time it is sent.
final class CachedClaims: Sendable {
    let claims: [OwnershipClaim]
    let account: Account
    let kind: RequestSubject.Kind
    /// The answer to a client that rejects purchases of other accounts.
    let rejected: Answer

    /// Returns nil for an answer that is not checked.
    /// - Parameter answer: the answer as sent the second time.
    init?(_ answer: Answer, to request: VerificationRequest) {
        guard let account = request.options.account, answer.verdict == .genuine else { return nil }
        (self.account, kind) = (account, request.subject.kind)
        claims = answer.ownershipClaims
        rejected = answer.rejectedForAccount
    }

    /// The approximate memory.
    var byteCount: Int { 512 + 256 * claims.count + account.id.utf8.count }
}
