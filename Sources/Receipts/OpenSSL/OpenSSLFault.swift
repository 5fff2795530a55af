// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// What receipts need and OpenSSL, as it is configured on this machine, does not offer.
public enum OpenSSLFault: String, Error, Hashable, Sendable {
    /// Apple signed receipts with it until January 2024, and it names the device a receipt is for.
    case sha1Missing = "SHA-1"
    /// Apple signs receipts with it since August 2023, and it names receipts and certificates here.
    case sha256Missing = "SHA-256"
    /// Apple signs the certificates with it under which it signs transactions.
    case sha384Missing = "SHA-384"
    /// The keys of all receipts and their certificates.
    case rsaMissing = "RSA"
    /// The keys of all transactions and their certificates.
    case ecdsaMissing = "ECDSA"
}

extension OpenSSLFault: CustomStringConvertible {
    /// What to mend.
    public var description: String {
        """
        offers no \(rawValue), which verifying receipts takes; the file that OPENSSL_CONF names, or openssl.cnf, must \
        activate a provider that does (default_properties may rule it out)
        """
    }
}

extension ReceiptVerifier {
    /// Tries what verifying takes of OpenSSL. To be called when a program starts: without these a verifier traps at its
    /// first receipt.
    public static func checkOpenSSL() throws(OpenSSLFault) {
        guard DigestAlgorithm.sha1.isOffered else { throw .sha1Missing }
        guard DigestAlgorithm.sha256.isOffered else { throw .sha256Missing }
        guard DigestAlgorithm.sha384.isOffered else { throw .sha384Missing }
        guard VerificationContext.isRSAOffered else { throw .rsaMissing }
        guard VerificationContext.isECDSAOffered else { throw .ecdsaMissing }
    }
}
