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

    // MARK: - Ed25519

    /// The tests 1, 2, 3 and SHA(abc) of RFC 8032 §7.1.
    @Test(arguments: [
        (
            seed: "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
            publicKey: "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", message: "",
            signature:
                "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46b"
                + "d25bf5f0595bbe24655141438e7a100b"
        ),
        (
            seed: "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
            publicKey: "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", message: "72",
            signature:
                "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c"
                + "387b2eaeb4302aeeb00d291612bb0c00"
        ),
        (
            seed: "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
            publicKey: "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", message: "af82",
            signature:
                "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc659"
                + "4a7c15e9716ed28dc027beceea1ec40a"
        ),
        (
            seed: "833fe62409237b9d62ec77587520911e9a759cec1d19755b7da901b96dca3d42",
            publicKey: "ec172b93ad5e563bf4932c70e1245034c35467ef2efd4d64ebf819683467e2bf",
            message: "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd"
                + "454d4423643ce80e2a9ac94fa54ca49f",
            signature:
                "dc2a4459e7369633a52b1bf277839a00201009a3efbf3ecb69bea2186c26b58909351fc9ac90b3ecfdfbc7c66431e030"
                + "3dca179c138ac17ad9bef1177331a704"
        ),
    ]) func `the signatures of RFC 8032 come out`(
        seed: String, publicKey: String, message: String, signature: String
    ) throws {
        let key = try #require(Ed25519SigningKey(seed: bytes(seed)))
        #expect(key.publicKey == bytes(publicKey))
        #expect(key.signature(over: bytes(message)) == bytes(signature))
    }

    @Test(arguments: [0, 31, 33, 64]) func `a seed of another length makes no key`(count: Int) {
        #expect(Ed25519SigningKey(seed: [UInt8](repeating: 7, count: count)) == nil)
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
