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

#endif
