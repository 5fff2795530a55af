// SPDX-License-Identifier: Apache-2.0
//
// Sums of carry-less products, which Swift has no intrinsics for.

#ifndef RECEIPT_GATEWAY_CARRYLESS_HASH_H
#define RECEIPT_GATEWAY_CARRYLESS_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Two sums of 128 bits, the lower words first.
typedef struct {
    uint64_t words[4];
} CarrylessHash_sums;

#if defined(__x86_64__)
#include <immintrin.h>

/// True if this processor multiplies two pairs of words at once.
static inline bool CarrylessHash_is_available(void) {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("vpclmulqdq");
}

/// Returns two sums of products over blocks of 32 bytes, each of two pairs of words. A product is that of the two words of a
/// pair, each added to a word of the key. The second sum begins with the second pair of the key.
///
/// `key` must have a word for each word of the blocks, and two more.
static inline __attribute__((target("avx2,vpclmulqdq"))) CarrylessHash_sums CarrylessHash_add(
    const uint8_t *blocks, size_t count, const uint64_t *key
) {
    __m256i first = _mm256_setzero_si256(), second = first;
    for (size_t block = 0; block < count; block += 1) {
        __m256i words = _mm256_loadu_si256((const __m256i *)(blocks + 32 * block));
        __m256i one = _mm256_xor_si256(words, _mm256_loadu_si256((const __m256i *)(key + 4 * block)));
        __m256i other = _mm256_xor_si256(words, _mm256_loadu_si256((const __m256i *)(key + 4 * block + 2)));
        first = _mm256_xor_si256(first, _mm256_clmulepi64_epi128(one, one, 0x10));
        second = _mm256_xor_si256(second, _mm256_clmulepi64_epi128(other, other, 0x10));
    }
    CarrylessHash_sums sums;
    _mm_storeu_si128(
        (__m128i *)sums.words, _mm_xor_si128(_mm256_castsi256_si128(first), _mm256_extracti128_si256(first, 1)));
    _mm_storeu_si128(
        (__m128i *)(sums.words + 2), _mm_xor_si128(_mm256_castsi256_si128(second), _mm256_extracti128_si256(second, 1)));
    return sums;
}

#else

static inline bool CarrylessHash_is_available(void) { return false; }
static inline CarrylessHash_sums CarrylessHash_add(const uint8_t *blocks, size_t count, const uint64_t *key) {
    return (CarrylessHash_sums){{0, 0, 0, 0}};
}

#endif
#endif
