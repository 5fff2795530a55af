// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0
//
// The one door to OpenSSL's libcrypto. Macros and variadics that Swift cannot import become
// `static inline` functions below; everything else is used as OpenSSL declares it.

#ifndef RECEIPT_GATEWAY_COPENSSL_H
#define RECEIPT_GATEWAY_COPENSSL_H

#include <openssl/bn.h>
#include <openssl/cms.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>

/// An RSA public key (RFC 8017 §3.1) of a modulus in the machine's byte order and an exponent; NULL if OpenSSL refuses.
/// OSSL_PARAM names its members by C strings that must outlive it, which Swift strings do not.
static inline EVP_PKEY *COpenSSL_rsa_public_key(unsigned char *modulus, size_t count, uint64_t exponent) {
    OSSL_PARAM parameters[] = {
        OSSL_PARAM_construct_BN(OSSL_PKEY_PARAM_RSA_N, modulus, count),
        OSSL_PARAM_construct_uint64(OSSL_PKEY_PARAM_RSA_E, &exponent),
        OSSL_PARAM_construct_end(),
    };
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, "RSA", NULL);
    EVP_PKEY *key = NULL;
    if (EVP_PKEY_fromdata_init(context) == 1) {
        EVP_PKEY_fromdata(context, &key, EVP_PKEY_PUBLIC_KEY, parameters);
    }
    EVP_PKEY_CTX_free(context);
    return key;
}

#endif
