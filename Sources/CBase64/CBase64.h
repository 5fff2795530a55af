// SPDX-License-Identifier: Apache-2.0
//
// Base64 with AVX2, which Swift has no intrinsics for.

#ifndef RECEIPT_GATEWAY_CBASE64_H
#define RECEIPT_GATEWAY_CBASE64_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__x86_64__)
#include <immintrin.h>

/// True if this processor has AVX2.
static inline bool CBase64_has_avx2(void) { return __builtin_cpu_supports("avx2"); }

/// The bytes of `from` to `to` become all ones, all other bytes zero. Bytes above 0x7F are negative here, and never in
/// between.
static inline __attribute__((target("avx2"))) __m256i CBase64_between(__m256i bytes, char from, char to) {
    return _mm256_and_si256(
        _mm256_cmpgt_epi8(bytes, _mm256_set1_epi8(from - 1)), _mm256_cmpgt_epi8(_mm256_set1_epi8(to + 1), bytes));
}

/// Decodes blocks of 32 characters of base64 (RFC 4648 §4) up to the first block with another character.
///
/// Writes 24 bytes for each block, and 8 bytes behind it. `output` must have room for three bytes for each four of the
/// `count` characters; the last 12 characters, and a block that ends among them, are left alone.
/// @return the number of characters read, a multiple of 32.
static inline __attribute__((target("avx2"))) size_t CBase64_decode_avx2(
    const uint8_t *text, size_t count, uint8_t *output
) {
    size_t position = 0;
    for (; count - position >= 32 + 12; position += 32, output += 24) {
        __m256i block = _mm256_loadu_si256((const __m256i *)(text + position));
        __m256i upper = CBase64_between(block, 'A', 'Z');
        __m256i lower = CBase64_between(block, 'a', 'z');
        __m256i digit = CBase64_between(block, '0', '9');
        __m256i plus = _mm256_cmpeq_epi8(block, _mm256_set1_epi8('+'));
        __m256i slash = _mm256_cmpeq_epi8(block, _mm256_set1_epi8('/'));
        __m256i letters = _mm256_or_si256(upper, lower);
        __m256i others = _mm256_or_si256(digit, _mm256_or_si256(plus, slash));
        if (_mm256_movemask_epi8(_mm256_or_si256(letters, others)) != -1) break;

        // From characters to values of 6 bits.
        __m256i shift = _mm256_and_si256(upper, _mm256_set1_epi8(0 - 'A'));
        shift = _mm256_or_si256(shift, _mm256_and_si256(lower, _mm256_set1_epi8(26 - 'a')));
        shift = _mm256_or_si256(shift, _mm256_and_si256(digit, _mm256_set1_epi8(52 - '0')));
        shift = _mm256_or_si256(shift, _mm256_and_si256(plus, _mm256_set1_epi8(62 - '+')));
        shift = _mm256_or_si256(shift, _mm256_and_si256(slash, _mm256_set1_epi8(63 - '/')));
        __m256i values = _mm256_add_epi8(block, shift);

        // Two values to 12 bits, two of these to 24 bits, which stand in the lower bytes of each 32.
        __m256i pairs = _mm256_maddubs_epi16(values, _mm256_set1_epi16(1 << 8 | 1 << 6));
        __m256i groups = _mm256_madd_epi16(pairs, _mm256_set1_epi32(1 << 16 | 1 << 12));
        // The three bytes of each group, the highest first; then the 12 bytes of each half together.
        const __m256i order = _mm256_setr_epi8(
            2, 1, 0, 6, 5, 4, 10, 9, 8, 14, 13, 12, -1, -1, -1, -1,
            2, 1, 0, 6, 5, 4, 10, 9, 8, 14, 13, 12, -1, -1, -1, -1);
        __m256i bytes = _mm256_shuffle_epi8(groups, order);
        bytes = _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 1, 2, 4, 5, 6, 3, 7));
        _mm256_storeu_si256((__m256i *)output, bytes);
    }
    return position;
}

#else

static inline bool CBase64_has_avx2(void) { return false; }
static inline size_t CBase64_decode_avx2(const uint8_t *text, size_t count, uint8_t *output) { return 0; }

#endif
#endif
