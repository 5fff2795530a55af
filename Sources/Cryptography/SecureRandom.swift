// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import COpenSSL

/// Random bytes of OpenSSL's generator, for keys and nonces.
package enum SecureRandom {
    /// True if the generator works; otherwise `bytes` traps.
    static var isOffered: Bool {
        var byte: UInt8 = 0
        return unsafe RAND_bytes(&byte, 1) == 1
    }

    package static func bytes(_ count: Int) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        // RAND_bytes may return -1, too.
        precondition(unsafe RAND_bytes(&bytes, Int32(count)) == 1, "random numbers are checked at the start")
        return bytes
    }
}
