// SPDX-License-Identifier: Apache-2.0

package import Clients
internal import Cryptography
internal import Gateway
package import HTTPServer
internal import HTTPTypes
internal import NIOCore
package import Receipts
internal import Resilience
internal import Telemetry

/// `POST /api` and `POST /apiencrypted`: the protocol of an existing receipt verification service, whose clients change
/// only the host name.
///
/// The key and the token stand in the body, so they are checked after the body has arrived, and before the receipt in
/// it is read or a cached answer is given.
package struct FormRoutes: Sendable {
    private let verification: VerifyHandler
    private let access: CurrentAccess
    private let charging: RequestCharging
    private let configuration: FormConfiguration
    private let clock: @Sendable () -> Timestamp

    package init(
        verification: VerifyHandler, access: CurrentAccess, charging: RequestCharging,
        _ configuration: FormConfiguration, clock: @escaping @Sendable () -> Timestamp
    ) {
        (self.verification, self.access, self.charging) = (verification, access, charging)
        (self.configuration, self.clock) = (configuration, clock)
    }

    /// The routes, which are offered while any client has form keys.
    package var routes: [Route] {
        [route("/api", isEncrypted: false), route("/apiencrypted", isEncrypted: true)]
    }

    private func route(_ path: String, isEncrypted: Bool) -> Route {
        Route(
            .post, path, authentication: .body, bodyLimit: configuration.bodyLimit,
            problems: { [statuses = configuration.statuses] problem, _ in Reply(form: problem, statuses) },
            isOffered: { access.now.formAuthenticator.hasAccounts }
        ) { context, body in
            guard RequestMediaType.form.accepts(context.header.contentType) else {
                return try refuse(.notAForm, in: context)
            }
            let form = FormBody(body.bytes.readableBytesUInt8Span)
            let access = access.now
            let sender: FormAccess
            do throws(FormCredentialFault) {
                sender = try access.formAuthenticator.access(key: form.key.span, token: form.token.span, at: clock())
            } catch {
                return try refuse(error, in: context)
            }
            context.record { $0.client = sender.client.name }
            body.reservation?.identify()
            let encryption = isEncrypted ? sender.app.encryption : nil
            if isEncrypted, encryption == nil {
                return try charging.refuse(Problem.noEncryptionKey, to: sender.client, in: context)
            }
            let endpoint = FormEndpoint(path: path, app: sender.app, form: form, statuses: configuration.statuses)
            let answer = try verification.answer(context, of: sender.client, access, body, at: endpoint)
            guard let encryption else { return answer }
            return try answer.map { $0.encrypted(with: encryption, in: configuration.envelope) }
        }
    }

    // MARK: - Wrong credentials

    /// The limits of requests with a wrong key or token, which may be guesses: per address, and wrong tokens also per
    /// account.
    ///
    /// A right pair is never charged to them. Otherwise anyone with the key of an app could shut its account.
    private enum Limits {
        /// Wrong requests of one address, or IPv6 /64.
        static let address = RatePolicy(name: "wrong-credentials", quota: 60, window: .seconds(60))
        /// Requests with one account's key and a wrong token.
        static let account = RatePolicy(name: "wrong-tokens", quota: 600, window: .seconds(60))
        /// The owner of the buckets.
        static let client = "form API"
    }

    /// Throws the same problem for every fault, or that a limit is exceeded.
    private func refuse(_ fault: FormCredentialFault, in context: RequestContext) throws -> VerifyHandler.Progress {
        charging.metrics.count(fault)
        guard case .token(let client) = fault else { return try refuse(.wrongFormCredentials, in: context) }
        context.record { $0.client = client.name }
        let account = RateBucket(client: Limits.client, policy: Limits.account, subject: client.name)
        return try refuse(.wrongFormCredentials, in: context, also: [RateCharge(account)])
    }

    /// Throws the problem of a request without usable credentials, or that its address sends too many.
    private func refuse(
        _ problem: Problem, in context: RequestContext, also charges: [RateCharge] = []
    ) throws -> VerifyHandler.Progress {
        let sender = charging.sender(of: context, under: Limits.address, of: Limits.client, also: charges)
        return try charging.admission.charge(sender) { throw problem }
    }
}

extension Reply {
    /// Creates a problem in the format of the form API. HTTP statuses for which the format has no word stay.
    init(form problem: Problem, _ statuses: FormStatuses) {
        let status: FormAnswer.Status = problem.code == .unauthenticated ? .unauthenticated : .failed
        self = .form(status, problem.detail, statuses)
        fields.append(contentsOf: problem.headerFields)
        if status != .unauthenticated { self.status = problem.status }
        isLast = true
    }

    /// Returns a successful reply with its body encrypted, and any other reply as it is.
    fileprivate func encrypted(with encryption: AESCBCEncryption, in envelope: FormEnvelope) -> Reply {
        let plain = body.bytes
        guard plain.starts(with: FormAnswer.successPrefix) else { return self }
        var text: [UInt8] = []
        Base64.append(encoding: encryption.encrypt(plain.span), to: &text)
        var reply = self
        switch envelope {
        case .text:
            reply.body = ReplyBody(text)
            reply.fields[.contentType] = "text/plain; charset=utf-8"
        case .json:
            let quote = [UInt8(ascii: "\"")]
            reply.body = ReplyBody(quote + text + quote)
        }
        return reply
    }
}

extension Problem {
    /// Has the same text whatever is wrong with the key and the token.
    static let wrongFormCredentials = Problem(.unauthorized, .unauthenticated, "Authentication is incorrect.")

    fileprivate static let noEncryptionKey = Problem(
        .unauthorized, .unauthenticated, "This app has no encryption key: encrypted answers are not set up for it.")
}
