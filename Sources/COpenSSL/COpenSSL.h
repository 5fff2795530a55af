// SPDX-License-Identifier: Apache-2.0
//
// The one header of OpenSSL's libcrypto. Macros and variadics that Swift cannot import become
// `static inline` functions below; everything else is used as OpenSSL declares it.

#ifndef RECEIPT_GATEWAY_COPENSSL_H
#define RECEIPT_GATEWAY_COPENSSL_H

#include <openssl/bn.h>
#include <openssl/cms.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>

/// A public key of this type and of these parameters; NULL if OpenSSL refuses.
static inline EVP_PKEY *COpenSSL_public_key(const char *type, OSSL_PARAM *parameters) {
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, type, NULL);
    EVP_PKEY *key = NULL;
    if (EVP_PKEY_fromdata_init(context) == 1) {
        EVP_PKEY_fromdata(context, &key, EVP_PKEY_PUBLIC_KEY, parameters);
    }
    EVP_PKEY_CTX_free(context);
    return key;
}

// OSSL_PARAM names its members by C strings that must outlive it, which Swift strings do not.

/// An RSA public key (RFC 8017 §3.1) of a modulus in the machine's byte order and an exponent; NULL if OpenSSL refuses.
static inline EVP_PKEY *COpenSSL_rsa_public_key(unsigned char *modulus, size_t count, uint64_t exponent) {
    OSSL_PARAM parameters[] = {
        OSSL_PARAM_construct_BN(OSSL_PKEY_PARAM_RSA_N, modulus, count),
        OSSL_PARAM_construct_uint64(OSSL_PKEY_PARAM_RSA_E, &exponent),
        OSSL_PARAM_construct_end(),
    };
    return COpenSSL_public_key("RSA", parameters);
}

/// An elliptic public key (RFC 5480 §2.2) on the curve of this name; NULL if OpenSSL refuses, as it does a point beside
/// the curve. Neither argument is written to.
static inline EVP_PKEY *COpenSSL_ec_public_key(const char *curve, unsigned char *point, size_t count) {
    OSSL_PARAM parameters[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_PKEY_PARAM_GROUP_NAME, (char *)curve, 0),
        OSSL_PARAM_construct_octet_string(OSSL_PKEY_PARAM_PUB_KEY, point, count),
        OSSL_PARAM_construct_end(),
    };
    return COpenSSL_public_key("EC", parameters);
}

#endif
