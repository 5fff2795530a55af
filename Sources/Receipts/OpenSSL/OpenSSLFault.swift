// SPDX-License-Identifier: Apache-2.0

internal import COpenSSL

/// An algorithm that receipts need and OpenSSL, as configured on this machine, does not offer.
public enum OpenSSLFault: String, Error, Hashable, Sendable, CustomStringConvertible {
    /// Apple signed receipts with it until January 2024, and the device hash is made with it.
    case sha1Missing = "SHA-1"
    /// Apple signs receipts with it since August 2023, and fingerprints of receipts and certificates are made with it.
    case sha256Missing = "SHA-256"
    /// The certificates under which Apple signs transactions are signed with it.
    case sha384Missing = "SHA-384"
    /// The keys of all receipts and their certificates.
    case rsaMissing = "RSA"
    /// The keys of all transactions and their certificates.
    case ecdsaMissing = "ECDSA"
    /// The fault and its remedy, as the rest of a sentence about OpenSSL.
    public var description: String {
        """
        does not offer \(rawValue), which verifying receipts requires; activate a provider that offers it in \
        openssl.cnf or in the file that OPENSSL_CONF names (default_properties may exclude it)
        """
    }
}

extension ReceiptVerifier {
    /// Checks that OpenSSL offers everything verification needs. Call it when a program starts: without these
    /// algorithms a verifier traps at its first receipt.
    public static func checkOpenSSL() throws(OpenSSLFault) {
        guard DigestAlgorithm.sha1.isOffered else { throw .sha1Missing }
        guard DigestAlgorithm.sha256.isOffered else { throw .sha256Missing }
        guard DigestAlgorithm.sha384.isOffered else { throw .sha384Missing }
        guard VerificationContext.isRSAOffered else { throw .rsaMissing }
        guard VerificationContext.isECDSAOffered else { throw .ecdsaMissing }
    }

    /// The version that OpenSSL reports: `OpenSSL 3.0.17 1 Jul 2025`.
    public static var openSSLVersion: String {
        // SAFETY: OpenSSL returns a constant.
        unsafe OpenSSL_version(OPENSSL_VERSION).map { unsafe String(cString: $0) } ?? "OpenSSL"
    }
}
