// SPDX-License-Identifier: Apache-2.0

internal import AppStore
package import Clients
internal import Gateway
package import HTTPServer
internal import HTTPTypes
internal import JSON
package import Logging
internal import NIOCore
package import Receipts
package import Telemetry

/// `POST /v1/apple/{bundle_id}/signatures/{kind}`: signs one request of an app to StoreKit. Clients need `may: [sign]`, and
/// the product and the offer in their `signatures`.
///
/// A signature is worth the discount that it grants. Nothing is kept: each request gets a signature of its own, once.
package struct SignatureRoute: Sendable {
    enum Limits {
        /// The size of a request of the Advanced Commerce API.
        static let body = ByteCount.bytes(ServerAPICall.Limits.bodyBytes)
    }

    private let access: CurrentAccess
    private let charging: RequestCharging
    private let metrics: SignatureMetrics
    private let logger: Logger
    private let clock: @Sendable () -> Timestamp

    /// - Parameter logger: receives a line for each signature, whatever its level. No line names a customer.
    package init(
        access: CurrentAccess, charging: RequestCharging, metrics: SignatureMetrics, logger: Logger,
        clock: @escaping @Sendable () -> Timestamp
    ) {
        (self.access, self.charging, self.metrics) = (access, charging, metrics)
        (self.logger, self.clock) = (logger.ofChanges, clock)
    }

    package var route: Route {
        Route(.post, RouteLabel.signatures.rawValue, bodyLimit: Limits.body) { context, body in
            try charging.admit(context) { try work(context, body.bytes) }
        }
    }

    private func work(_ context: RequestContext, _ body: ByteBuffer) throws -> ChargedWork {
        let target = try SignatureTarget(context.match.parameter)
        guard context.client.may.contains(.sign) else { throw refused(target.kind, .rightMissing(.sign)) }
        try context.client.apps.require(target.bundleID)
        guard RequestMediaType.json.accepts(context.header.contentType) else { throw Problem.unsupportedMediaType }
        let request = try StoreKitRequest(target.kind, decoding: body)
        if let gap = context.client.signatureGap(for: request, ofApp: target.bundleID) {
            throw refused(target.kind, .signatureNotPermitted(gap))
        }
        guard let key = access.now.rules.serverAPIKeys.key(forApp: target.bundleID) else {
            throw GatewayError.serverAPINotConfigured
        }
        let client = context.client.name
        return ChargedWork(bundleID: target.bundleID) {
            let signature = request.signature(by: key, forApp: target.bundleID, at: clock())
            metrics.count(target.kind, .signed)
            let origin: Logger.Metadata = ["client": "\(client)", "bundle_id": "\(target.bundleID)"]
            logger.notice("Signature for StoreKit", metadata: request.logMembers.merging(origin) { $1 })
            return Reply(signature)
        }
    }

    private func refused(_ kind: StoreKitRequest.Kind, _ problem: Problem) -> Problem {
        metrics.count(kind, .refused)
        return problem
    }
}

/// The part of a path after `/v1/apple/`: `{bundle_id}/signatures/{kind}`. Nothing is decoded.
private struct SignatureTarget {
    let bundleID: String
    let kind: StoreKitRequest.Kind

    init(_ text: String) throws(Problem) {
        let parts = text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
            .map { String(Substring($0)) }
        guard parts.count == 3, parts[0].isBundleID else { throw .notFound }
        guard let kind = StoreKitRequest.Kind(rawValue: parts[2]) else { throw .unknownSignatureKind }
        (bundleID, self.kind) = (parts[0], kind)
    }
}

extension StoreKitRequest {
    enum LogLimits {
        static let skus = 10
    }

    /// The signed request, without its customer. `bound` is true if only one customer can use the signature.
    fileprivate var logMembers: Logger.Metadata {
        var members: Logger.Metadata = ["kind": "\(kind.rawValue)"]
        switch self {
        case .promotionalOffer(let offer, let transactionID):
            members["product_id"] = "\(offer.productID.text)"
            members["offer_identifier"] = "\(offer.offerIdentifier.text)"
            members["bound"] = .stringConvertible(transactionID != nil)
        case .originalPromotionalOffer(let offer, let account):
            members["product_id"] = "\(offer.productID.text)"
            members["offer_identifier"] = "\(offer.offerIdentifier.text)"
            members["bound"] = .stringConvertible(account != nil)
        case .introductoryOfferEligibility(let productID, let isEligible, _):
            members["product_id"] = "\(productID.text)"
            members["eligible"] = .stringConvertible(isEligible)
        case .advancedCommerce(let request):
            members["operation"] = "\(request.operation.rawValue)"
            // The log has its own limits for lines: a request may name thousands.
            let skus = request.skus.map { "\($0)" }.sorted()
            members["skus"] = .array(skus.prefix(LogLimits.skus).map { .string($0) })
        }
        return members
    }
}

extension Reply {
    fileprivate init(_ signature: StoreKitSignature) {
        self.init(fields: .ofUnstoredJSON) { json in
            switch signature {
            case .jws(let jws): json.member("jws", jws)
            case .original(let original):
                json.member("key_id", original.keyID)
                json.member("nonce", original.nonce)
                json.member("timestamp", original.timestamp)
                json.member("signature", original.signature)
            }
        }
    }
}

extension SignatureScope.Gap {
    fileprivate var text: String {
        switch self {
        case .productOfPromotionalOffers(let product): "the product \(product.text) in promotional_offers"
        case .promotionalOffer(let offer):
            "the offer \(offer.offerIdentifier.text) of the product \(offer.productID.text) in promotional_offers"
        case .productOfIntroductoryOffers(let product): "the product \(product.text) in introductory_offers"
        // A SKU with other characters than visible ASCII is not repeated.
        case .sku(let sku):
            "the SKU\(sku.string.flatMap(SignableText.init).map { " \($0.text)" } ?? "") in advanced_commerce"
        case .anySKU: "\"*\" in advanced_commerce: the request names no SKU"
        }
    }
}

extension Problem {
    fileprivate static func signatureNotPermitted(_ gap: SignatureScope.Gap) -> Problem {
        Problem(
            .forbidden, .operationNotPermitted,
            "This client may not have this signed. For this app, its signatures in the clients file lack \(gap.text).")
    }

    fileprivate static let unknownSignatureKind = Problem(
        .notFound, .notFound,
        "There is no signature of this kind. The kinds are "
            + StoreKitRequest.Kind.allCases.map(\.rawValue).joined(separator: ", ") + ".")
}
