// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// A short name for long octets: FNV-1a, 64 bits, hexadecimal. It tells changes apart; it guards against nobody.
enum Fingerprint {
    static func of(_ octets: some Sequence<UInt8>) -> String {
        let hash = octets.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { hash, octet in
            (hash ^ UInt64(octet)) &* 0x0000_0100_0000_01B3
        }
        return String(hash, radix: 16)
    }
}
