// SPDX-License-Identifier: Apache-2.0
//
// The check of a signed answer (docs/signed-answers.md), for an app. Swift 6, with Foundation and one of CryptoKit (Apple's
// systems), swift-crypto (in a package) or OpenSSL:
//
//   swiftc -parse-as-library -I Sources/COpenSSL docs/clients/swift/SignedAnswer.swift -o signed-answer
//   ./signed-answer JWKS.json BUNDLE_ID RECEIPT.b64 ANSWER.jws [NONCE]
//
// prints whether to trust an answer about this receipt of this app, what it says, or why not. JWKS.json has the keys that the
// app was shipped with; a key set that came with the answer proves nothing. In an app keep SignedAnswerVerifier and what it
// uses.

import Foundation

#if canImport(CryptoKit)
    import CryptoKit
#elseif canImport(Crypto)
    import Crypto
#else
    import COpenSSL
#endif

/// Not an answer of the gateway to this request, or an old one.
struct Untrusted: Error { let why: String }

/// The subject of a request, each value as `digest` makes it.
struct BoundRequest: Decodable, Equatable {
    /// Of the bytes of an app receipt, or of the text of one JWS.
    var receipt: String?
    /// Of the texts of JWS, in the order of the request.
    var signedTransactions: [String]?
    var signedRenewalInfos: [String]?
    var appTransaction: String?
    var transactionId: String?
    /// Of the customer's account, if your backend sends one.
    var account: String?
}

/// The part of an answer that an app needs. The rest is in docs/api.yaml.
struct Answer: Decodable {
    struct Subscription: Decodable {
        let productId: String
        let state: String
        /// UNIX milliseconds; nil for a state without access.
        let accessUntilMs: Int64?
    }

    let verdict: String
    let reason: String?
    let environment: String?
    let subscriptions: [Subscription]
}

/// The check of answers by the keys of one gateway.
struct SignedAnswerVerifier {
    /// The difference that the clocks of the gateway and of this device may have.
    static let skewSeconds = 60.0

    private struct KeySet: Decodable { let keys: [Key] }
    private struct Key: Decodable { let kid, x, y: String }
    private struct Header: Decodable { let alg, kid, typ: String, crit: [String]? }
    private struct Claims: Decodable {
        let iat, exp: Double, aud: String?, nonce: String?, request: BoundRequest, answer: Answer
    }

    private let keys: [Key]
    private let app: String

    init(keySet: Data, app: String) throws {
        keys = try JSONDecoder().decode(KeySet.self, from: keySet).keys
        self.app = app
    }

    /// - Parameters:
    ///   - jws: the body of the gateway's answer.
    ///   - request: what the app sent to its backend.
    ///   - nonce: the nonce of this request, if the app made one.
    func answer(_ jws: String, to request: BoundRequest, nonce: String? = nil, now: Date = .now) throws(Untrusted)
        -> Answer
    {
        let parts = jws.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let signature = Self.bytes(parts[2]), let header: Header = Self.decoded(parts[0]) else {
            throw Untrusted(why: "it is no signed answer")
        }
        // The algorithm and the key come from here, not from the answer.
        guard header.alg == "ES256", header.typ == "answer+jwt", header.crit == nil,
            let key = keys.first(where: { $0.kid == header.kid }), let x = Self.bytes(key.x[...]),
            let y = Self.bytes(key.y[...]), x.count == 32, y.count == 32
        else { throw Untrusted(why: "the key is unknown, or it is no signed answer") }
        guard Self.isSignature(signature, over: Data("\(parts[0]).\(parts[1])".utf8), byKeyAt: x + y) else {
            throw Untrusted(why: "the signature is not genuine")
        }
        guard let claims: Claims = Self.decoded(parts[1]) else { throw Untrusted(why: "it is no signed answer") }
        let seconds = now.timeIntervalSince1970
        guard claims.iat - Self.skewSeconds <= seconds, seconds < claims.exp + Self.skewSeconds else {
            throw Untrusted(why: "it is an old answer, or a clock is wrong")
        }
        guard claims.aud == app else { throw Untrusted(why: "it is about another app") }
        guard claims.request == request else { throw Untrusted(why: "it is about another request") }
        // Only an answer with this app's nonce was made after the request.
        guard nonce == nil || claims.nonce == nonce else { throw Untrusted(why: "it is an answer to another nonce") }
        return claims.answer
    }

    private static func decoded<Value: Decodable>(_ part: Substring) -> Value? {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        return bytes(part).flatMap { try? decoder.decode(Value.self, from: $0) }
    }

    private static func bytes(_ text: Substring) -> Data? {
        let standard = text.replacing("-", with: "+").replacing("_", with: "/")
        return Data(base64Encoded: standard + String(repeating: "=", count: (4 - standard.count % 4) % 4))
    }

    /// Returns a new nonce for a request: 128 random bits.
    static func nonce() -> String {
        base64URL((0..<16).map { _ in UInt8.random(in: .min ... .max) })
    }

    fileprivate static func base64URL(_ bytes: some Sequence<UInt8>) -> String {
        Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    #if canImport(CryptoKit) || canImport(Crypto)
        /// Returns SHA-256 in base64url.
        static func digest(_ sent: Data) -> String { base64URL(SHA256.hash(data: sent)) }

        private static func isSignature(_ signature: Data, over message: Data, byKeyAt point: Data) -> Bool {
            guard let key = try? P256.Signing.PublicKey(rawRepresentation: point),
                let signature = try? P256.Signing.ECDSASignature(rawRepresentation: signature)
            else { return false }
            return key.isValidSignature(signature, for: message)
        }
    #else
        /// Returns SHA-256 in base64url.
        static func digest(_ sent: Data) -> String {
            let bytes = [UInt8](sent)
            var digest = [UInt8](repeating: 0, count: 32)
            EVP_Digest(bytes, bytes.count, &digest, nil, EVP_sha256(), nil)
            return base64URL(digest)
        }

        private static func isSignature(_ signature: Data, over message: Data, byKeyAt point: Data) -> Bool {
            guard signature.count == 64 else { return false }
            // SubjectPublicKeyInfo (RFC 5480 §2) of a point on P-256, and ECDSA-Sig-Value (RFC 3279 §2.2.3).
            let prefix: [UInt8] = [
                0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01, 0x06, 0x08, 0x2A, 0x86,
                0x48,
                0xCE, 0x3D, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00, 0x04,
            ]
            let numbers = [signature.prefix(32), signature.suffix(32)].flatMap { half -> [UInt8] in
                let digits = [UInt8](half.drop { $0 == 0 })
                let number = digits.first.map { $0 < 0x80 } ?? false ? digits : [0] + digits
                return [0x02, UInt8(number.count)] + number
            }
            let encoded = [0x30, UInt8(numbers.count)] + numbers, text = [UInt8](message)
            let key = (prefix + point).withUnsafeBufferPointer { bytes in
                var start = bytes.baseAddress
                return d2i_PUBKEY(nil, &start, bytes.count)
            }
            let context = EVP_MD_CTX_new()
            defer {
                EVP_MD_CTX_free(context)
                EVP_PKEY_free(key)
            }
            guard key != nil, EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, key) == 1 else { return false }
            return EVP_DigestVerify(context, encoded, encoded.count, text, text.count) == 1
        }
    #endif
}

@main
enum Command {
    static func main() {
        let words = CommandLine.arguments.dropFirst()
        guard (4...5).contains(words.count) else {
            fail(64, "usage: signed-answer JWKS.json BUNDLE_ID RECEIPT.b64 ANSWER.jws [NONCE]")
        }
        let files = [words[1], words[3], words[4]].map { path in
            guard let file = FileManager.default.contents(atPath: path) else { fail(66, "\(path) cannot be read") }
            return file
        }
        guard let receipt = Data(base64Encoded: files[1], options: .ignoreUnknownCharacters) else {
            fail(65, "the receipt is not base64")
        }
        guard let verifier = try? SignedAnswerVerifier(keySet: files[0], app: words[2]) else {
            fail(65, "\(words[1]) is no key set")
        }
        let jws = String(decoding: files[2], as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        do throws(Untrusted) {
            let request = BoundRequest(receipt: SignedAnswerVerifier.digest(receipt))
            let answer = try verifier.answer(jws, to: request, nonce: words.count == 5 ? words[5] : nil)
            let states = answer.subscriptions.map { "\($0.productId) \($0.state)" }
            print("trust – \(([answer.verdict] + states).joined(separator: ", "))")
        } catch {
            fail(1, "do not trust – \(error.why)")
        }
    }

    private static func fail(_ status: Int32, _ text: String) -> Never {
        print(text)
        exit(status)
    }
}
