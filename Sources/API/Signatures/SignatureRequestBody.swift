// SPDX-License-Identifier: Apache-2.0

internal import AppStore
internal import Gateway
internal import JSON
internal import NIOCore

extension StoreKitRequest {
    /// Reads the body of a request for a signature of this kind.
    init(_ kind: Kind, decoding body: ByteBuffer) throws(JSONFault) {
        switch kind {
        case .promotionalOffer:
            let fields = try SignatureRequestBody(body, taking: [.productID, .offerIdentifier, .transactionID])
            self = .promotionalOffer(try fields.offer(), transactionID: try fields.transactionID())
        case .introductoryOfferEligibility:
            let fields = try SignatureRequestBody(body, taking: [.productID, .allowIntroductoryOffer, .transactionID])
            guard let isEligible = fields.isEligible else { throw fields.missing(.allowIntroductoryOffer) }
            guard let transactionID = try fields.transactionID() else { throw fields.missing(.transactionID) }
            self = .introductoryOfferEligibility(
                productID: try fields.required(.productID), isEligible: isEligible, transactionID: transactionID)
        case .advancedCommerce:
            self = .advancedCommerce(try AdvancedCommerceRequest(Array(buffer: body)))
        case .originalPromotionalOffer:
            let fields = try SignatureRequestBody(
                body, taking: [.productID, .offerIdentifier, .appAccountToken, .applicationUsername])
            self = .originalPromotionalOffer(try fields.offer(), try fields.account())
        }
    }
}

/// The JSON body of a request for a signature, but for Advanced Commerce, whose body is Apple's request.
private struct SignatureRequestBody {
    enum Field: String {
        case productID = "product_id"
        case offerIdentifier = "offer_identifier"
        case transactionID = "transaction_id"
        case allowIntroductoryOffer = "allow_introductory_offer"
        case appAccountToken = "app_account_token"
        case applicationUsername = "application_username"
    }

    private var texts: [Field: String] = [:]
    private(set) var isEligible: Bool?
    /// The place of the faults of fields, the end of the body.
    private let end: Int

    /// - Parameter fields: the fields of the kind.
    init(_ body: ByteBuffer, taking fields: Set<Field>) throws(JSONFault) {
        end = body.readableBytes
        let bytes = body.readableBytesUInt8Span
        var reader = JSONReader(bytes)
        var texts: [Field: String] = [:], isEligible: Bool?
        _ = try reader.fields { (field: Field, reader) throws(JSONFault) in
            guard fields.contains(field) else { throw JSONFault(.unknownField, at: reader.position) }
            if field == .allowIntroductoryOffer {
                isEligible = try reader.boolean()
            } else {
                texts[field] = try reader.text()
            }
        }
        (self.texts, self.isEligible) = (texts, isEligible)
    }

    func missing(_ field: Field) -> JSONFault { fault(.missingField, field) }

    private func fault(_ rule: JSONFault.Rule, _ field: Field) -> JSONFault {
        JSONFault(rule, field: field.rawValue, at: end)
    }

    func offer() throws(JSONFault) -> ProductOffer {
        ProductOffer(productID: try required(.productID), offerIdentifier: try required(.offerIdentifier))
    }

    func required(_ field: Field) throws(JSONFault) -> SignableText {
        guard let text = texts[field] else { throw missing(field) }
        return try signable(text, field)
    }

    private func signable(_ text: String, _ field: Field) throws(JSONFault) -> SignableText {
        guard let text = SignableText(text) else { throw fault(.notAccepted(SignableText.Limits.description), field) }
        return text
    }

    func transactionID() throws(JSONFault) -> String? {
        guard let id = texts[.transactionID] else { return nil }
        guard id.isTransactionID else { throw fault(.notAccepted(TransactionIDForm.description), .transactionID) }
        return id
    }

    /// The customer of an original signature; nil for a purchase without one.
    func account() throws(JSONFault) -> OfferAccount? {
        switch (texts[.appAccountToken], texts[.applicationUsername]) {
        case (nil, nil): return nil
        case (let token?, nil):
            guard let account = OfferAccount(appAccountToken: token) else {
                throw fault(.notAccepted("a UUID"), .appAccountToken)
            }
            return account
        case (nil, let name?):
            guard let account = OfferAccount(applicationUsername: try signable(name, .applicationUsername)) else {
                throw fault(.notAccepted("without capital letters, in the app too"), .applicationUsername)
            }
            return account
        case (_?, _?):
            throw fault(.notAccepted("left out if \"app_account_token\" is sent"), .applicationUsername)
        }
    }
}
