// SPDX-License-Identifier: Apache-2.0

#if DEBUG || RECEIPT_FUZZING
    @testable internal import API
    internal import Gateway
    internal import HTTPServer
    internal import JSON
    internal import NIOCore
    internal import Receipts

    extension FuzzTarget {
        /// Checks the body of a plugin's request against a tree of it, which exists unless a name is repeated. The first byte
        /// chooses the protocol.
        static func checkPluginRequest(_ input: [UInt8]) throws {
            guard let choice = input.first else { return }
            let body = Array(input.dropFirst())
            do {
                choice & 1 == 0 ? try checkValidation(body) : try checkPurchaseVerification(body)
            } catch let fault as JSONFault {
                try fault.checkPosition(in: body)
            } catch let problem as Problem {
                try expect(problem.code == .invalidBody && problem.field != nil, "a problem of no member")
            }
        }

        private static func checkValidation(_ body: [UInt8]) throws {
            let request = try ValidateRequestBody(decoding: body.span)
            let json = try? JSONValue(parsing: body, limits: treeLimits)
            let transaction = json?["transaction"], field = request.evidenceField.rawValue
            if let json {
                let id = json["type"]?.string == "application" ? json["id"]?.string ?? "" : ""
                try expect(sameBytes(request.bundleID ?? "", id), "another app than was sent")
                let type = field == "jwsRepresentation" ? "apple-sk2" : "ios-appstore"
                try expect(transaction?["type"]?.string == type, "evidence of another type than was sent")
            }
            let evidence = try request.evidence.decoded(in: body.span, from: request.evidenceField)
            guard let transaction else { return }
            let sent = transaction[field]?.string.map { Array($0.utf8) }
            try evidence.check(isSentAs: sent)
        }

        private static func checkPurchaseVerification(_ body: [UInt8]) throws {
            guard case .request(let request) = try PurchaseVerifyEndpoint().read(ByteBuffer(bytes: body)) else {
                throw BrokenInvariant("a reply without a verification")
            }
            guard case .evidence(let evidence) = request.subject, case .jws = evidence else {
                throw BrokenInvariant("other evidence than one JWS")
            }
            guard let json = try? JSONValue(parsing: body, limits: treeLimits) else { return }
            try expect(json["store"]?.string == "apple", "another store than was sent")
            let expected = json["expectedProductId"]?.string ?? ""
            try expect(sameBytes(request.options.expectedProductID ?? "", expected), "another product than was sent")
            try evidence.check(isSentAs: json["jws"]?.string.map { Array($0.utf8) })
        }

        private static let treeLimits = JSONValue.Limits(bytes: 4096, depth: 24, values: 4096)

        /// Unicode treats some different texts as equal.
        private static func sameBytes(_ one: String, _ other: String) -> Bool { one.utf8.elementsEqual(other.utf8) }
    }

    extension Evidence {
        /// Checks that the evidence is what a text means.
        /// - Parameter text: nil for a text that is too long to be handed out.
        fileprivate func check(isSentAs text: [UInt8]?) throws {
            guard let text else { return }
            switch self {
            case .jws(let jws): try expect(jws == Array(text.withoutOuterWhiteSpace), "another JWS than was sent")
            case .appReceipt(let bytes), .transactionReceipt(let bytes):
                try expect((try? Base64.decode(text.span)) == bytes, "another receipt than was sent")
            case .signedTransactions: throw BrokenInvariant("a list that was not sent")
            }
        }
    }
#endif
