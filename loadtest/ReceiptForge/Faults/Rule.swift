// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// The rules a receipt can break, under the names a verifier gives as its reason. Exactly one is reported.
public enum Rule: String, Sendable, Hashable, CaseIterable {
    // The text of the request.
    case base64Empty = "base64_empty"
    case base64InvalidCharacter = "base64_invalid_character"
    case base64URLAlphabet = "base64_url_alphabet"
    case base64MissingPadding = "base64_missing_padding"
    case base64NonCanonicalBits = "base64_non_canonical_bits"
    case base64TrailingData = "base64_trailing_data"

    // The encoding (X.690).
    case derTruncated = "der_truncated"
    case derTrailingBytes = "der_trailing_bytes"
    case derNonMinimalLength = "der_non_minimal_length"
    case derLengthTooLarge = "der_length_too_large"
    case derIndefiniteLength = "der_indefinite_length"
    case derNonMinimalInteger = "der_non_minimal_integer"
    case derIntegerOutOfRange = "der_integer_out_of_range"
    case derUnexpectedTag = "der_unexpected_tag"
    case derConstructedString = "der_constructed_string"
    case derTooDeep = "der_too_deep"

    // The verifier's own limits.
    case receiptTooLarge = "receipt_too_large"
    case tooManyCertificates = "too_many_certificates"
    case tooManyAttributes = "too_many_attributes"
    case tooManyPurchases = "too_many_purchases"

    // The container (RFC 5652).
    case notSignedData = "not_signed_data"
    case unsupportedVersion = "unsupported_version"
    case signerCountNotOne = "signer_count_not_one"
    case signedAttributesPresent = "signed_attributes_present"
    case unsignedAttributesPresent = "unsigned_attributes_present"
    case contentTypeNotData = "content_type_not_data"
    case contentMissing = "content_missing"
    case contentEmpty = "content_empty"
    case digestAlgorithmUnsupported = "digest_algorithm_unsupported"
    case digestAlgorithmNotListed = "digest_algorithm_not_listed"
    case signatureAlgorithmUnsupported = "signature_algorithm_unsupported"
    case signatureAlgorithmMismatch = "signature_algorithm_mismatch"

    // The chain (RFC 5280 §6 and Apple's markers).
    case signerCertificateMissing = "signer_certificate_missing"
    case signerCertificateAmbiguous = "signer_certificate_ambiguous"
    case certificateMalformed = "certificate_malformed"
    case issuerCertificateMissing = "issuer_certificate_missing"
    case anchorUntrusted = "anchor_untrusted"
    case leafMarkerMissing = "leaf_marker_missing"
    case intermediateMarkerMissing = "intermediate_marker_missing"
    case leafIsCA = "leaf_is_ca"
    case issuerNotCA = "issuer_not_ca"
    case pathLengthExceeded = "path_length_exceeded"
    case keyUsageViolation = "key_usage_violation"
    case criticalExtensionUnknown = "critical_extension_unknown"
    case keyNotRSA = "key_not_rsa"
    case keyTooSmall = "key_too_small"
    case exponentTooSmall = "exponent_too_small"
    case certificateSignatureAlgorithmUnsupported = "certificate_signature_algorithm_unsupported"
    case certificateSignatureInvalid = "certificate_signature_invalid"
    case certificateExpired = "certificate_expired"
    case certificateNotYetValid = "certificate_not_yet_valid"
    case environmentNotAllowed = "environment_not_allowed"

    // The receipt's signature and fields.
    case signatureInvalid = "signature_invalid"
    case attributeTypeOutOfRange = "attribute_type_out_of_range"
    case attributeDuplicate = "attribute_duplicate"
    case attributeMissing = "attribute_missing"
    case textInvalidUTF8 = "text_invalid_utf8"
    case textContainsNUL = "text_contains_nul"
    case dateInvalid = "date_invalid"
    case creationDateInFuture = "creation_date_in_future"
    case receiptTypeUnknown = "receipt_type_unknown"
}
