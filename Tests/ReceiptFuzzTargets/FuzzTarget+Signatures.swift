// SPDX-License-Identifier: Apache-2.0

#if DEBUG || RECEIPT_FUZZING
    @testable internal import API
    @testable internal import AppStore
    internal import Cryptography
    internal import JSON
    internal import NIOCore
    internal import ReceiptForge
    internal import Receipts

    extension FuzzTarget {
        /// Checks the body of a request for a signature: what is signed is what was sent, and nothing else. The first byte
        /// chooses the kind.
        static func checkSignatureRequest(_ input: [UInt8]) throws {
            guard let choice = input.first, let key = SigningForge.key else { return }
            let kinds = StoreKitRequest.Kind.allCases, kind = kinds[Int(choice) % kinds.count]
            let body = Array(input.dropFirst())
            let request: StoreKitRequest
            do {
                request = try StoreKitRequest(kind, decoding: ByteBuffer(bytes: body))
            } catch {
                return try error.checkPosition(in: body)
            }
            try expect(request.kind == kind, "a request of another kind")
            guard let sent = try? JSONValue(parsing: body, limits: ServerAPICall.Limits.body) else {
                throw BrokenInvariant("a request that is read, and is no JSON")
            }
            let signature = request.signature(by: key, forApp: SigningForge.app, at: SigningForge.date, nonce: "n")
            switch signature {
            case .jws(let jws): try StoreKitClaims(jws).check(of: kind, sent, body)
            case .original: try request.checkParts(sent)
            }
        }
    }

    private enum SigningForge {
        static let app = "com.example.f"
        static let date = Timestamp(millisecondsSince1970: 1_790_000_000_000)
        static let key = ECSigningKey(pem: Array(ForgedAPIKey(seed: 1).privateKeyPEM.utf8)).map {
            ServerAPIKey(issuerID: "issuer", keyID: "key", privateKey: $0)
        }
    }

    /// The claims of a JWS.
    private struct StoreKitClaims {
        private let claims: JSONValue

        init(_ jws: String) throws {
            let parts = jws.split(separator: ".", omittingEmptySubsequences: false)
            guard parts.count == 3, let payload = Base64URLDecoder.decode(Array(parts[1].utf8).span),
                let claims = try? JSONValue(parsing: payload, limits: Self.limits)
            else { throw BrokenInvariant("a signature that is no JWS") }
            self.claims = claims
        }

        /// A request of 64 KiB in base64, and the other claims.
        private static let limits = JSONValue.Limits(bytes: 128 << 10, depth: 1, values: 16)

        func check(of kind: StoreKitRequest.Kind, _ sent: JSONValue, _ body: [UInt8]) throws {
            try expect(claims["aud"]?.string == kind.rawValue, "a signature of another kind")
            try expect(claims["bid"]?.string == SigningForge.app, "a signature for another app")
            let fields = kind == .advancedCommerce ? [] : Self.fields
            for (claim, field) in fields {
                try expect(claims[claim]?.content == sent[field]?.content, "another \(claim) than was sent")
            }
            let names = Set((claims.members ?? []).compactMap(\.name.string))
            let own = fields.filter { sent[$0.field] != nil }.map(\.claim)
            let common = ["bid", "iss", "aud", "iat", "nonce"]
            let request = kind == .advancedCommerce ? ["request"] : []
            try expect(names == Set(own + common + request), "claims that were not sent")
            guard kind == .advancedCommerce else { return }
            let signed = claims["request"]?.string.flatMap { try? Base64.decode(Array($0.utf8).span) }
            // A text that is too long is not handed out.
            try expect(claims["request"]?.string == nil || signed == body, "another request than was sent")
        }

        private static let fields: [(claim: String, field: String)] = [
            ("productId", "product_id"), ("offerIdentifier", "offer_identifier"), ("transactionId", "transaction_id"),
            ("allowIntroductoryOffer", "allow_introductory_offer"),
        ]
    }

    extension StoreKitRequest {
        /// Checks the parts of an original signature: none has the separator, or is another one than was sent.
        fileprivate func checkParts(_ sent: JSONValue) throws {
            guard case .originalPromotionalOffer(let offer, let account) = self else {
                throw BrokenInvariant("an original signature of another kind")
            }
            let signed = offer.signedBytes(
                forApp: SigningForge.app, keyID: "key", account: account?.text ?? "", nonce: "n", timestamp: 1)
            let parts = String(decoding: signed, as: UTF8.self).split(
                separator: "\u{2063}", omittingEmptySubsequences: false
            ).map(String.init)
            try expect(parts.count == 7, "\(parts.count) parts")
            try expect(parts[2] == sent["product_id"]?.string, "another product than was sent")
            try expect(parts[3] == sent["offer_identifier"]?.string, "another offer than was sent")
            let sentAccount = sent["app_account_token"] ?? sent["application_username"]
            try expect(parts[4] == sentAccount?.string?.lowercased() ?? "", "another account than was sent")
        }
    }
#endif
