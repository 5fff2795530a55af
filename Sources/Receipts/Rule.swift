// SPDX-License-Identifier: Apache-2.0

/// The rules a genuine receipt keeps, one case each; the raw value is the `reason` in answers.
///
/// Sources: RFC 5652 (CMS), RFC 5280 (certificates), Apple's "Validating receipts on the device", and real receipts.
public enum Rule: String, Error, CaseIterable, Hashable, Sendable {
    // DER: ITU-T X.690, the encoding itself.
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

    // Limits.
    case receiptTooLarge = "receipt_too_large"
    case tooManyCertificates = "too_many_certificates"
    case tooManyAttributes = "too_many_attributes"
    case tooManyPurchases = "too_many_purchases"

    // The PKCS #7 container.
    case notSignedData = "not_signed_data"
    case unsupportedVersion = "unsupported_version"
    case contentTypeNotData = "content_type_not_data"
    case contentMissing = "content_missing"
    case contentEmpty = "content_empty"
    case signerCountNotOne = "signer_count_not_one"
    case signedAttributesPresent = "signed_attributes_present"
    case unsignedAttributesPresent = "unsigned_attributes_present"
    case digestAlgorithmUnsupported = "digest_algorithm_unsupported"
    case digestAlgorithmNotListed = "digest_algorithm_not_listed"
    case signatureAlgorithmUnsupported = "signature_algorithm_unsupported"
    case signatureAlgorithmMismatch = "signature_algorithm_mismatch"

    // The certificate chain.
    case certificateMalformed = "certificate_malformed"
    case signerCertificateMissing = "signer_certificate_missing"
    case signerCertificateAmbiguous = "signer_certificate_ambiguous"
    case issuerCertificateMissing = "issuer_certificate_missing"
    case certificateUnused = "certificate_unused"
    case anchorUntrusted = "anchor_untrusted"
    case leafMarkerMissing = "leaf_marker_missing"
    case intermediateMarkerMissing = "intermediate_marker_missing"
    case leafIsCA = "leaf_is_ca"
    case issuerNotCA = "issuer_not_ca"
    case pathLengthExceeded = "path_length_exceeded"
    case keyUsageViolation = "key_usage_violation"
    case criticalExtensionUnknown = "critical_extension_unknown"
    case keyAlgorithmUnsupported = "key_algorithm_unsupported"
    case curveUnsupported = "curve_unsupported"
    case keyAlgorithmMismatch = "key_algorithm_mismatch"
    case keyTooSmall = "key_too_small"
    case exponentTooSmall = "exponent_too_small"
    case certificateSignatureAlgorithmUnsupported = "certificate_signature_algorithm_unsupported"
    case certificateSignatureInvalid = "certificate_signature_invalid"
    case certificateExpired = "certificate_expired"
    case certificateNotYetValid = "certificate_not_yet_valid"
    case environmentNotAllowed = "environment_not_allowed"

    // The signature over the content.
    case signatureInvalid = "signature_invalid"

    // The fields.
    case attributeTypeOutOfRange = "attribute_type_out_of_range"
    case attributeDuplicate = "attribute_duplicate"
    case attributeMissing = "attribute_missing"
    case attributeMalformed = "attribute_malformed"
    case textInvalidUTF8 = "text_invalid_utf8"
    case textContainsNUL = "text_contains_nul"
    case dateInvalid = "date_invalid"
    case receiptTypeUnknown = "receipt_type_unknown"
    case creationDateInFuture = "creation_date_in_future"

    // The form of a JWS and its header: RFC 7515.
    case jwsTooLarge = "jws_too_large"
    case jwsNotCompact = "jws_not_compact"
    case jwsBase64URLInvalid = "jws_base64url_invalid"
    case jwsHeaderMalformed = "jws_header_malformed"
    case jwsHeaderParameterDuplicate = "jws_header_parameter_duplicate"
    case jwsAlgorithmUnsupported = "jws_algorithm_unsupported"
    case jwsCriticalParameter = "jws_critical_parameter"
    case jwsKeyInHeader = "jws_key_in_header"
    case x5cMissing = "x5c_missing"
    case x5cCountWrong = "x5c_count_wrong"
    case x5cEntryMalformed = "x5c_entry_malformed"
    case x5cOrderWrong = "x5c_order_wrong"
    case jwsSignatureLengthWrong = "jws_signature_length_wrong"

    // The claims of a JWS.
    case payloadNotObject = "payload_not_object"
    case payloadOfOtherKind = "payload_of_other_kind"
    case claimDuplicate = "claim_duplicate"
    case claimMissing = "claim_missing"
    case claimMalformed = "claim_malformed"
    case tooManyClaims = "too_many_claims"
    case environmentUnknown = "environment_unknown"
    case signedDateInFuture = "signed_date_in_future"

    // Transaction receipts, as in iOS 6.
    case transactionReceiptMalformed = "transaction_receipt_malformed"
    case transactionReceiptVersionUnsupported = "transaction_receipt_version_unsupported"
    case transactionReceiptSignatureMalformed = "transaction_receipt_signature_malformed"
    case purchaseInfoMalformed = "purchase_info_malformed"
    case purchaseInfoFieldDuplicate = "purchase_info_field_duplicate"
    case purchaseInfoFieldMissing = "purchase_info_field_missing"
    case purchaseInfoFieldMalformed = "purchase_info_field_malformed"
    case purchaseDateInFuture = "purchase_date_in_future"

    // Several items together.
    case itemsOfDifferentApps = "items_of_different_apps"
    case itemsOfDifferentEnvironments = "items_of_different_environments"
    case renewalInfoUnrelated = "renewal_info_unrelated"

    // The caller's expectations.
    case bundleIDMismatch = "bundle_id_mismatch"
    case appVersionMismatch = "app_version_mismatch"
    case deviceHashMismatch = "device_hash_mismatch"
    /// One sentence for the engineer who reads the answer.
    public var explanation: String {
        switch self {
        case .derTruncated: "An element is cut short: data is missing, or each '+' of the base64 became a space."
        case .derTrailingBytes: "Bytes follow the end of the encoding."
        case .derNonMinimalLength: "A length is not in its shortest form."
        case .derLengthTooLarge: "A length takes more than four bytes."
        case .derIndefiniteLength: "A length is indefinite, which DER forbids."
        case .derNonMinimalInteger: "An integer is not in its shortest form."
        case .derIntegerOutOfRange: "An integer does not fit in 64 bits."
        case .derUnexpectedTag: "An element has another type than required. At byte 0: encoded twice, or no receipt."
        case .derConstructedString: "A string is cut into segments, which DER forbids."
        case .derTooDeep: "Elements are nested deeper than the limit."
        case .receiptTooLarge: "The receipt is larger than the limit."
        case .tooManyCertificates: "The receipt contains more certificates than the limit."
        case .tooManyAttributes: "A set has more attributes, or a property list more fields, than the limit."
        case .tooManyPurchases: "The receipt contains more purchases than the limit."
        case .notSignedData: "The container is not PKCS #7 SignedData."
        case .unsupportedVersion: "A version number differs from that of receipts."
        case .contentTypeNotData: "The signed content is not declared as id-data."
        case .contentMissing: "The container has no content (detached signature)."
        case .contentEmpty: "The signed content is empty."
        case .signerCountNotOne: "The container does not have exactly one signer."
        case .signedAttributesPresent: "The signer has signed attributes, which no genuine receipt has."
        case .unsignedAttributesPresent: "The signer has unsigned attributes, which no genuine receipt has."
        case .digestAlgorithmUnsupported: "The digest is neither SHA-1 nor SHA-256."
        case .digestAlgorithmNotListed: "The signer's digest is not in the container's list of digests."
        case .signatureAlgorithmUnsupported: "The signature algorithm is not RSA with PKCS #1 v1.5 padding."
        case .signatureAlgorithmMismatch: "The digest of the signature algorithm differs from the signer's."
        case .certificateMalformed: "A certificate is not well formed."
        case .signerCertificateMissing: "No certificate has the signer's issuer and serial number."
        case .signerCertificateAmbiguous: "Several certificates have the signer's issuer and serial number."
        case .issuerCertificateMissing: "The certificate that issued another one is missing."
        case .certificateUnused: "A certificate does not belong to the signer's chain."
        case .anchorUntrusted: "The chain does not end in a trust anchor."
        case .leafMarkerMissing:
            "The signer's certificate is not marked for signing receipts (1.2.840.113635.100.6.11.1)."
        case .intermediateMarkerMissing: "The intermediate is not marked as Apple's WWDR (1.2.840.113635.100.6.2.1)."
        case .leafIsCA: "The signer's certificate is a certificate authority."
        case .issuerNotCA: "The issuer of a certificate is not a certificate authority."
        case .pathLengthExceeded: "The chain is longer than one of its certificates allows."
        case .keyUsageViolation: "A certificate's key is used for what its key usage forbids."
        case .criticalExtensionUnknown: "A certificate has an unknown critical extension."
        case .keyAlgorithmUnsupported: "A certificate's key is neither an RSA key nor an elliptic one."
        case .curveUnsupported: "A certificate's key is on a curve other than P-256 and P-384."
        case .keyAlgorithmMismatch: "The kind of a key does not match the signature algorithm."
        case .keyTooSmall: "An RSA key has fewer than 2048 bits."
        case .exponentTooSmall: "An RSA key's public exponent is below 65537 or even."
        case .certificateSignatureAlgorithmUnsupported:
            "A certificate is signed neither with RSA and SHA-1 or SHA-256 nor with ECDSA and SHA-256 or SHA-384."
        case .certificateSignatureInvalid: "A certificate's signature does not verify under its issuer's key."
        case .certificateExpired: "A certificate had expired when the evidence was signed."
        case .certificateNotYetValid: "A certificate was not yet valid when the evidence was signed."
        case .environmentNotAllowed: "The trust anchor may not sign for this environment."
        case .signatureInvalid: "The signature does not match the content."
        case .attributeTypeOutOfRange: "An attribute type lies outside 0 ..< 2^31."
        case .attributeDuplicate: "An attribute that may appear once appears twice."
        case .attributeMissing: "A required attribute is missing."
        case .attributeMalformed: "An attribute's value has the wrong type."
        case .textInvalidUTF8: "A text is not valid UTF-8."
        case .textContainsNUL: "A text contains a NUL character."
        case .dateInvalid: "A date is not a valid RFC 3339 date."
        case .receiptTypeUnknown: "The receipt type is not one that Apple documents."
        case .creationDateInFuture: "The receipt's creation date lies in the future."
        case .jwsTooLarge: "The JWS is larger than the limit."
        case .jwsNotCompact: "The JWS is not three parts separated by two dots (compact serialization)."
        case .jwsBase64URLInvalid: "A part of the JWS is not base64url without padding."
        case .jwsHeaderMalformed: "The JWS header is not a JSON object of the expected form."
        case .jwsHeaderParameterDuplicate: "The JWS header has a parameter twice."
        case .jwsAlgorithmUnsupported: "The JWS is not signed with ES256."
        case .jwsCriticalParameter: "The JWS header has \"crit\" or \"b64\", which Apple does not use."
        case .jwsKeyInHeader: "The JWS header names a key by \"jwk\", \"jku\" or \"x5u\"; only \"x5c\" is accepted."
        case .x5cMissing: "The JWS header has no list of certificates (\"x5c\")."
        case .x5cCountWrong: "The JWS header does not have the three certificates of Apple's chains."
        case .x5cEntryMalformed: "A certificate in the JWS header is not plain base64, or there are more than eight."
        case .x5cOrderWrong: "The certificates in the JWS header are not in the order leaf, intermediate, root."
        case .jwsSignatureLengthWrong: "The JWS signature is not 64 bytes long."
        case .payloadNotObject: "The signed payload is not a JSON object."
        case .payloadOfOtherKind: "The JWS is genuine, but of another kind than is accepted here."
        case .claimDuplicate: "A claim appears twice."
        case .claimMissing: "A required claim is missing."
        case .claimMalformed: "A claim does not have the required type or form."
        case .tooManyClaims: "The payload has more claims than the limit."
        case .environmentUnknown: "The environment is not one that Apple documents."
        case .signedDateInFuture: "The signing date lies in the future."
        case .transactionReceiptMalformed:
            "The transaction receipt is not a property list with a signature and purchase information."
        case .transactionReceiptVersionUnsupported: "The transaction receipt's version is not 2, 3 or 4."
        case .transactionReceiptSignatureMalformed:
            "The transaction receipt's signature does not have the form of its version."
        case .purchaseInfoMalformed: "The purchase information is not base64 of a property list of texts."
        case .purchaseInfoFieldDuplicate: "A field of the purchase information appears twice."
        case .purchaseInfoFieldMissing: "A required field of the purchase information is missing."
        case .purchaseInfoFieldMalformed: "A field of the purchase information does not have the required form."
        case .purchaseDateInFuture: "The purchase date lies more than a day in the future."
        case .itemsOfDifferentApps: "The signed items belong to different apps."
        case .itemsOfDifferentEnvironments: "The signed items belong to different environments."
        case .renewalInfoUnrelated: "A renewal info belongs to none of the transactions."
        case .bundleIDMismatch: "The evidence is genuine, but was issued for another app."
        case .appVersionMismatch: "The evidence is genuine, but was not issued for this version of the app."
        case .deviceHashMismatch: "The evidence is genuine, but was not issued for this device."
        }
    }
}

/// A broken rule and its location. Contains no byte of the receipt, so it may be logged and sent to clients.
public struct ReceiptError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The location of a broken rule.
    public enum Location: Hashable, Sendable {
        /// The receipt as a whole.
        case receipt
        /// A byte offset in the data being read.
        case offset(Int)
        /// The attribute of this type.
        case attribute(Int)
        /// The claim, header parameter or field of this name.
        case claim(String)
    }

    /// The broken rule.
    public let rule: Rule
    /// The location at which it was broken.
    public let location: Location

    /// Creates an error, by default about the receipt as a whole.
    public init(_ rule: Rule, at location: Location = .receipt) {
        self.rule = rule
        self.location = location
    }

    /// The rule's name, its explanation and the location.
    public var description: String {
        let place =
            switch location {
            case .receipt: ""
            case .offset(let offset): " (at byte \(offset))"
            case .attribute(let type): " (attribute \(type))"
            case .claim(let name): " (\(name))"
            }
        return "\(rule.rawValue): \(rule.explanation)\(place)"
    }
}
