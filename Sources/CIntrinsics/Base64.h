// SPDX-License-Identifier: Apache-2.0
//
// Base64 with AVX2, which Swift has no intrinsics for.

#ifndef RECEIPT_GATEWAY_BASE64_H
#define RECEIPT_GATEWAY_BASE64_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__x86_64__)
#include <immintrin.h>

/// True if this processor has AVX2.
static inline bool Base64_has_avx2(void) { return __builtin_cpu_supports("avx2"); }

/// 16 bytes twice, because `_mm256_shuffle_epi8` looks up each half of 16 bytes by itself.
#define Base64_table(...) _mm256_broadcastsi128_si256(_mm_setr_epi8(__VA_ARGS__))

/// Decodes blocks of 32 characters of base64 (RFC 4648 §4) up to the first block with another character.
///
/// Writes 24 bytes for each block, and 8 bytes behind it. `output` must have room for three bytes for each four of the
/// `count` characters; the last 12 characters, and a block that ends among them, are left alone.
/// @return the number of characters read, a multiple of 32.
static inline __attribute__((target("avx2"))) size_t Base64_decode_avx2(
    const uint8_t *text, size_t count, uint8_t *output
) {
    size_t position = 0;
    for (; count - position >= 32 + 12; position += 32, output += 24) {
        __m256i block = _mm256_loadu_si256((const __m256i *)(text + position));
        // Each upper half of a byte has a bit: 2 has 1, 3 has 2, 4 and 6 have 4, 5 and 7 have 8, all others have 16.
        // Each lower half has the bits of those upper halves with which it makes no character of the alphabet.
        const __m256i faults_of_upper = Base64_table(
            16, 16, 1, 2, 4, 8, 4, 8, 16, 16, 16, 16, 16, 16, 16, 16);
        const __m256i faults_of_lower = Base64_table(
            4 | 1 | 16, 1 | 16, 1 | 16, 1 | 16, 1 | 16, 1 | 16, 1 | 16, 1 | 16, 1 | 16, 1 | 16, 1 | 2 | 16,
            2 | 8 | 16, 1 | 2 | 8 | 16, 1 | 2 | 8 | 16, 1 | 2 | 8 | 16, 2 | 8 | 16);
        const __m256i half = _mm256_set1_epi8(0x0F);
        __m256i upper = _mm256_and_si256(_mm256_srli_epi16(block, 4), half);
        __m256i lower = _mm256_and_si256(block, half);
        __m256i faults = _mm256_shuffle_epi8(faults_of_upper, upper);
        if (!_mm256_testz_si256(faults, _mm256_shuffle_epi8(faults_of_lower, lower))) break;

        // From characters to values of 6 bits: what to add follows from the upper half. `+` and `/` share theirs, so
        // the table has `/` one place before.
        const __m256i shifts = Base64_table(
            0, 63 - '/', 62 - '+', 52 - '0', 0 - 'A', 0 - 'A', 26 - 'a', 26 - 'a', 0, 0, 0, 0, 0, 0, 0, 0);
        __m256i slash = _mm256_cmpeq_epi8(block, _mm256_set1_epi8('/'));
        __m256i values = _mm256_add_epi8(block, _mm256_shuffle_epi8(shifts, _mm256_add_epi8(upper, slash)));

        // Two values to 12 bits, two of these to 24 bits, which stand in the lower bytes of each 32.
        __m256i pairs = _mm256_maddubs_epi16(values, _mm256_set1_epi16(1 << 8 | 1 << 6));
        __m256i groups = _mm256_madd_epi16(pairs, _mm256_set1_epi32(1 << 16 | 1 << 12));
        // The three bytes of each group, the highest first; then the 12 bytes of each half together.
        const __m256i order = Base64_table(2, 1, 0, 6, 5, 4, 10, 9, 8, 14, 13, 12, -1, -1, -1, -1);
        __m256i bytes = _mm256_shuffle_epi8(groups, order);
        bytes = _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 1, 2, 4, 5, 6, 3, 7));
        _mm256_storeu_si256((__m256i *)output, bytes);
    }
    return position;
}

#else

static inline bool Base64_has_avx2(void) { return false; }
static inline size_t Base64_decode_avx2(const uint8_t *text, size_t count, uint8_t *output) { return 0; }

#endif
#endif
