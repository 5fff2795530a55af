// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import ReceiptForge
internal import Receipts

extension ForgedEvidenceKind: ExpressibleByArgument {
    /// The programs that are measured side by side.
    var implementations: [Implementation] {
        switch self {
        case .receipt: [.warm, .cold, .floor, .cmsVerify, .base64]
        case .jws, .notification: [.warm, .cold, .floor, .chainWalk]
        case .transactionReceipt: [.warm, .cold, .floor, .base64]
        }
    }
}

/// One of the programs that are measured side by side.
enum Implementation: String, Encodable, Sendable {
    /// `ReceiptVerifier.verify` with the signer's chain remembered.
    case warm
    /// `ReceiptVerifier.verify` with nothing remembered.
    case cold
    /// The crypto floor: for each signature one digest of the signed bytes and one verification with the signer's key,
    /// nothing parsed.
    case floor
    /// OpenSSL's `d2i_CMS_bio` and `CMS_verify`.
    case cmsVerify
    /// OpenSSL's `X509_verify_cert` for the certificates in the header of each JWS, then `EVP_DigestVerify`: the chain is
    /// walked each time, as Apple's libraries do.
    case chainWalk
    /// Decoding the receipt's base64 text, which precedes every other measurement and is part of none.
    case base64

    var name: String {
        switch self {
        case .warm: "the verifier with a warm chain"
        case .cold: "the verifier with a cold chain"
        case .floor: "the crypto floor"
        case .cmsVerify: "CMS_verify"
        case .chainWalk: "the walk of the whole chain"
        case .base64: "the base64 decoder"
        }
    }
}

/// An implementation rejected genuine evidence; its speed would mean nothing.
struct RefusedReceipt: Error, Hashable, CustomStringConvertible {
    let implementation: Implementation
    let purchases: Int

    var description: String {
        "\(implementation.name) rejected genuine evidence of \(purchases) purchases; nothing was measured."
    }
}

extension SampleReceipt {
    /// True if its text can be decoded, and to these bytes.
    fileprivate var isDecoded: Bool {
        let text = base64
        guard let decoded = try? Base64.decode(text.span) else { return false }
        return decoded.count == bytes.count && decoded.last == bytes.last
    }
}

extension ReceiptVerifier {
    /// Returns true if the evidence is genuine, and a receipt has the purchases it was made with.
    fileprivate func accepts(_ sample: SampleReceipt) -> Bool {
        let now = Corpus.issuedBefore.timestamp
        return switch sample.evidence {
        case .receipt: (try? verify(sample.bytes, at: now))?.purchases.count == sample.purchases
        case .jws: (try? verifyTransaction(sample.bytes, at: now)) != nil
        case .transactionReceipt: (try? verify(transactionReceipt: sample.bytes, at: now)) != nil
        case .notification: (try? verifyNotification(sample.bytes, at: now)) != nil
        }
    }

    /// Returns true if the evidence is genuine and was issued for the app it was made for.
    fileprivate func reads(_ sample: SampleReceipt) -> Bool {
        let now = Corpus.issuedBefore.timestamp
        return switch sample.evidence {
        case .receipt: (try? verify(sample.bytes, at: now))?.isIssued(forBundleID: sample.bundleID) ?? false
        case .jws: (try? verifyTransaction(sample.bytes, at: now))?.bundleID == sample.bundleID
        case .transactionReceipt:
            (try? verify(transactionReceipt: sample.bytes, at: now))?.bundleID == sample.bundleID
        case .notification:
            (try? verifyNotification(sample.bytes, at: now))?.isWhole(ofApp: sample.bundleID) ?? false
        }
    }
}

extension VerifiedNotification {
    /// Returns true if it is about this app, and has a transaction and a renewal info.
    fileprivate func isWhole(ofApp bundleID: String) -> Bool {
        self.bundleID == bundleID && transaction?.bundleID == bundleID && renewalInfo != nil
    }
}

/// The authority that signs the samples, and the parts of all implementations, which trust it.
struct TestBench: Sendable {
    let authority: SampleAuthority
    private let trustStore: TrustStore
    private let verifier: ReceiptVerifier
    private let signerKey: SignerKey
    private let roots: RootStore

    init(_ authority: SampleAuthority) throws {
        self.authority = authority
        trustStore = try authority.trustStore()
        verifier = ReceiptVerifier(trustStore: trustStore)
        let certificates = authority.certificates.compactMap { X509Certificate(der: $0.der) }
        guard let leaf = certificates.first, let root = certificates.last, let signerKey = SignerKey(of: leaf)
        else { throw SampleError() }
        roots = RootStore(trusting: root, at: Int(Corpus.issuedBefore.secondsSince1970))
        self.signerKey = signerKey
    }

    /// Returns the work of an implementation for one thread: it verifies evidence and returns false if that is refused.
    func worker(for implementation: Implementation) -> (SampleReceipt) -> Bool {
        switch implementation {
        // All threads share the verifier, as in a gateway.
        case .warm: return verifier.accepts
        case .cold: return { ReceiptVerifier(trustStore: trustStore).accepts($0) }
        case .floor:
            // Both contexts are set up once, and share nothing with other threads.
            let digest = SHA256Context(), signature = SignatureContext(signerKey.copied())
            return { sample in
                sample.parts.allSatisfy { signature.verifies($0.signature, over: digest.digest(of: $0.content)) }
            }
        case .cmsVerify: return { CMSMessage(der: $0.bytes)?.isVerified(by: roots) ?? false }
        case .chainWalk:
            return { sample in
                let messages = SampleReceipt.messages(in: sample.bytes, sample.evidence)
                return messages?.allSatisfy { $0.isVerified(by: roots) } ?? false
            }
        case .base64: return \.isDecoded
        }
    }

    /// Throws unless every implementation accepts every sample, and the verifier finds the apps they were made for.
    func checkAcceptance(of samples: SampleReceipts) throws(RefusedReceipt) {
        for implementation in authority.evidence.implementations {
            let worker = worker(for: implementation)
            guard samples.all.allSatisfy(worker) else {
                throw RefusedReceipt(implementation: implementation, purchases: samples.purchases)
            }
        }
        guard samples.all.allSatisfy(verifier.reads) else {
            throw RefusedReceipt(implementation: .warm, purchases: samples.purchases)
        }
    }
}
