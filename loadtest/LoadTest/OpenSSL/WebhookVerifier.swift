// SPDX-License-Identifier: Apache-2.0

internal import COpenSSL
internal import Receipts

/// A receiver's key by the rules of Standard Webhooks, written without the gateway's own code.
struct WebhookVerifier: Hashable, Sendable {
    private enum Key: Hashable {
        /// Of HMAC-SHA256, for signatures `v1,…`.
        case symmetric([UInt8])
        /// Of Ed25519, for signatures `v1a,…`.
        case publicKey([UInt8])
    }

    private enum Limits {
        static let secretBytes = 24...64
        static let publicKeyBytes = 32
        /// The signatures of one delivery that are checked.
        static let signatures = 16
    }

    private let key: Key

    /// Reads `whsec_` with base64 of 24 to 64 bytes, or `whpk_` with base64 of an Ed25519 public key.
    init?(_ text: String) {
        guard let bytes = try? Base64.decode(String(text.drop { $0 != "_" }.dropFirst())) else { return nil }
        switch text.prefix(while: { $0 != "_" }) {
        case "whsec" where Limits.secretBytes.contains(bytes.count): key = .symmetric(bytes)
        case "whpk" where bytes.count == Limits.publicKeyBytes: key = .publicKey(bytes)
        default: return nil
        }
    }

    /// Returns true if one of the signatures is valid.
    /// - Parameter signatures: the value of `webhook-signature`.
    func accepts(_ signatures: String, id: String, timestamp: String, body: [UInt8]) -> Bool {
        let signed = Array("\(id).\(timestamp).".utf8) + body
        return signatures.split(separator: " ").prefix(Limits.signatures).contains { signature in
            let parts = signature.split(separator: ",", maxSplits: 1)
            guard parts.count == 2, let bytes = try? Base64.decode(String(parts[1])) else { return false }
            return switch key {
            case .symmetric(let secret): parts[0] == "v1" && bytes == hmac(secret, signed)
            case .publicKey(let point):
                parts[0] == "v1a" && SignerKey(ed25519: point)?.verifies(bytes, over: signed) == true
            }
        }
    }

    private func hmac(_ secret: [UInt8], _ message: [UInt8]) -> [UInt8] {
        var code = [UInt8](repeating: 0, count: 32), count = 0
        // SAFETY: OpenSSL reads the counted bytes and writes at most `code.count`.
        let result = unsafe EVP_Q_mac(
            nil, "HMAC", nil, "SHA256", nil, secret, secret.count, message, message.count, &code, code.count, &count)
        precondition(unsafe result != nil && count == code.count, "OpenSSL refused HMAC-SHA256")
        return code
    }
}
