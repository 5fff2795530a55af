// SPDX-License-Identifier: Apache-2.0

/// A short hash that shows changes: FNV-1a, 64 bits, hexadecimal. It gives no security.
enum Fingerprint {
    static func of(_ bytes: some Sequence<UInt8>) -> String {
        let hash = bytes.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { hash, byte in
            (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3
        }
        return String(hash, radix: 16)
    }
}
