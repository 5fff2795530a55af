// SPDX-License-Identifier: Apache-2.0

internal import Clients
internal import Gateway
internal import HTTPServer
internal import HTTPTypes
internal import JSON
internal import NIOCore
internal import Receipts

/// `POST /v1/purchase/verify`: the verification provider of OpenIAP's libraries, for one signed transaction.
///
/// ```
/// {"store": "apple", "jws": "eyJ…", "expectedProductId": "pro.monthly"}
/// ```
struct PurchaseVerifyEndpoint: ForeignEndpoint {
    private enum Member: String {
        case store, jws
        case expectedProductID = "expectedProductId"
    }

    var path: String { PluginProtocol.openIAP.path }
    var mediaType: RequestMediaType? { .json }

    func read(_ body: ByteBuffer) throws -> VerifyInput {
        let bytes = body.readableBytesUInt8Span
        var reader = JSONReader(bytes), members = PluginBody()
        var store: String?, jws: JSONText?
        var options = VerificationOptions()
        options.wantsPresentState = true
        try reader.beginObject()
        while let member: Member = try members.next(in: &reader) {
            do throws(JSONFault) {
                if try members.skipsNull(in: &reader) { continue }
                switch member {
                case .store: store = try reader.text()
                case .jws: jws = try reader.string()
                case .expectedProductID: options.expectedProductID = try reader.text()
                }
            } catch {
                throw error.inField(member.rawValue)
            }
        }
        try reader.endDocument()
        func fault(_ rule: JSONFault.Rule, _ member: Member) -> JSONFault {
            JSONFault(rule, field: member.rawValue, at: bytes.count)
        }
        guard let store else { throw fault(.missingField, .store) }
        guard store == "apple" else { throw fault(.notAccepted(#""apple", the only store of this gateway"#), .store) }
        guard let jws else { throw fault(.missingField, .jws) }
        return .request(VerificationRequest(.evidence(.jws(try reader.jws(jws))), options: options))
    }

    func reply(to options: VerificationOptions, with answer: Answer, at now: Timestamp) -> Reply {
        switch answer.verdict {
        case .genuine: VerifiedPurchase(answer, expecting: options.expectedProductID, at: now).reply
        case .rejected: Reply(purchase: .inauthentic)
        case .undecided:
            Reply(
                verifyingPurchase: Problem(
                    .serviceUnavailable, .upstreamDidNotAnswer, answer.verdict.explanation ?? "",
                    headerFields: [.retryAfter: "1"]))
        }
    }
}

/// The states of OpenIAP that purchases in the App Store have.
private enum PurchaseState: String {
    case entitled = "ENTITLED"
    /// Taken back by Apple.
    case canceled = "CANCELED"
    case expired = "EXPIRED"
    /// A consumable, which Apple has no record of using.
    case readyToConsume = "READY_TO_CONSUME"
    /// Evidence that is no purchase.
    case unknown = "UNKNOWN"
    case inauthentic = "INAUTHENTIC"

    var isValid: Bool { self == .entitled || self == .readyToConsume }
}

/// The purchase that a signed transaction is about, at one moment.
private struct VerifiedPurchase {
    private let answer: Answer
    private let expectedProductID: String?
    private let now: Timestamp

    init(_ answer: Answer, expecting productID: String?, at now: Timestamp) {
        (self.answer, expectedProductID, self.now) = (answer, productID, now)
    }

    var reply: Reply {
        guard let sent = answer.subject?.evidence?.transactions.first else { return Reply(purchase: .unknown) }
        let isExpected = expectedProductID.map { $0.utf8.elementsEqual(sent.productID.utf8) } ?? true
        return Reply(
            purchase: isExpected ? state(of: sent) : .inauthentic, productID: sent.productID,
            environment: answer.environment)
    }

    private func state(of sent: Transaction) -> PurchaseState {
        if sent.isSubscription { return state(ofSubscription: sent) }
        let newest = answer.newestState(of: sent)
        if newest.cancellationDate != nil { return .canceled }
        return newest.isConsumable ? .readyToConsume : .entitled
    }

    /// Returns the state of the subscription now, not of the period that was sent: it may have been renewed since. A
    /// subscription that changed to another product has ended for this product.
    private func state(ofSubscription sent: Transaction) -> PurchaseState {
        guard let subscription = answer.subscription(of: sent),
            subscription.transaction.productID == sent.productID
        else { return .expired }
        if subscription.grantsAccess(at: now) { return .entitled }
        return subscription.state == .revoked ? .canceled : .expired
    }
}

extension Reply {
    fileprivate init(purchase state: PurchaseState, productID: String? = nil, environment: Environment? = nil) {
        self.init { json in
            json.member("store", "apple")
            json.member("isValid", state.isValid)
            json.member("state", state.rawValue)
            json.member("productId", productID)
            json.member("environment", environment?.rawValue)
        }
    }

    /// Creates the answer for a problem.
    init(verifyingPurchase problem: Problem) {
        let code =
            switch problem.code {
            case .unauthenticated: "INVALID_API_KEY"
            case .invalidBody: "INVALID_INPUT"
            default: problem.code.rawValue.uppercased()
            }
        self.init { json in
            json.objects("errors", of: [problem]) { json, problem in
                json.member("code", code)
                json.member("message", problem.detailForApps)
                json.member("path", problem.field)
            }
        }
        fields.append(contentsOf: problem.headerFields)
        status = problem.status
    }
}
