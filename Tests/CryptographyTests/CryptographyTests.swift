// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

import Cryptography
import Testing

struct CryptographyTests {
    // MARK: - Digests

    @Test(arguments: [
        (HashFunction.sha1, "a9993e364706816aba3e25717850c26c9cd0d89d"),
        (.sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
    ]) func `the digests of FIPS 180-4 come out`(function: HashFunction, digest: String) {
        #expect(function.digest(of: Array("abc".utf8)) == bytes(digest))
    }

    // MARK: - HMAC

    /// The cases 1, 2 and 6 of RFC 4231 §4: keys shorter than a block and longer than one.
    @Test(arguments: [
        (
            [UInt8](repeating: 0x0B, count: 20), "Hi There",
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
        ),
        (
            Array("Jefe".utf8), "what do ya want for nothing?",
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        ),
        (
            [UInt8](repeating: 0xAA, count: 131), "Test Using Larger Than Block-Size Key - Hash Key First",
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
        ),
    ]) func `the codes of RFC 4231 come out, and twice the same`(key: [UInt8], message: String, code: String) {
        let key = HMACKey(key)
        #expect(key.code(of: message) == bytes(code))
        #expect(key.code(of: message) == bytes(code))
        #expect(key.accepts(bytes(code), of: message))
    }

    @Test func `a code with any bit changed, or of another length, is not valid`() {
        let key = HMACKey([1, 2, 3])
        let code = key.code(of: "message")
        for bit in 0..<256 {
            var changed = code
            changed[bit / 8] ^= 1 << (bit % 8)
            #expect(!key.accepts(changed, of: "message"))
        }
        for other in [[], Array(code.dropLast()), code + [0]] { #expect(!key.accepts(other, of: "message")) }
    }

    @Test func `threads share a key`() async {
        let key = HMACKey(Array("shared".utf8))
        let expected = (0..<64).map { key.code(of: "\($0)") }
        await withTaskGroup { group in
            for _ in 0..<8 {
                group.addTask {
                    for round in 0..<2000 {
                        #expect(key.code(of: "\(round % 64)") == expected[round % 64])
                    }
                }
            }
        }
    }

    /// The first 32 bytes of case 3 of RFC 5869 §A.3.
    @Test func `the key derivation of RFC 5869 comes out`() {
        let derived = HMACKey.derive(from: [UInt8](repeating: 0x0B, count: 22), for: "")
        #expect(derived == bytes("8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d"))
    }

    // MARK: - AES-GCM

    /// The case 14 of the specification of GCM (McGrew and Viega, appendix B).
    @Test func `a text sealed elsewhere is opened`() {
        let sealed = bytes(
            "000000000000000000000000" + "cea7403d4d606b6e074ec5d3baf39d18" + "d0d1c8a799996bf0265b98b5d48ab919")
        #expect(AES256GCM.isOffered)
        #expect(Self.zeroes.open(sealed[...], context: []) == [UInt8](repeating: 0, count: 16))
    }

    @Test(arguments: [0, 1, 15, 16, 17, 4096]) func `a sealed text is opened, with its context only`(length: Int) {
        let text = (0..<length).map { UInt8(truncatingIfNeeded: $0) }
        let sealed = Self.zeroes.seal(text, context: [1, 2])
        #expect(sealed.count == length + AES256GCM.overhead)
        #expect(Self.zeroes.open(sealed[...], context: [1, 2]) == text)
        #expect(Self.zeroes.open(sealed[...], context: [1, 3]) == nil)
        #expect(Self.zeroes.open(sealed[...], context: []) == nil)
        #expect(AES256GCM(key: [UInt8](repeating: 1, count: 32)).open(sealed[...], context: [1, 2]) == nil)
        #expect(Self.zeroes.seal(text, context: [1, 2]) != sealed, "nonces are random")
    }

    @Test func `nothing is opened with a byte changed or missing`() {
        let sealed = Self.zeroes.seal(Array("entitlement".utf8), context: [])
        for index in sealed.indices {
            var changed = sealed
            changed[index] ^= 0x40
            #expect(Self.zeroes.open(changed[...], context: []) == nil)
            #expect(Self.zeroes.open(sealed[..<index], context: []) == nil)
        }
    }

    private static let zeroes = AES256GCM(key: [UInt8](repeating: 0, count: 32))

    private func bytes(_ hexadecimal: String) -> [UInt8] {
        let digits = Array(hexadecimal).map { UInt8($0.hexDigitValue ?? 0) }
        return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }
}

extension HMACKey {
    fileprivate func code(of message: String) -> [UInt8] { code(for: message.utf8.span) }
    fileprivate func accepts(_ code: [UInt8], of message: String) -> Bool { isValid(code, for: message.utf8.span) }
}
