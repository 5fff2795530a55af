// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import ReceiptForge
@testable import Receipts

/// Signatures under single keys: RFC 6979 for independent numbers, the forge for hostile ones.
struct PublicKeyTests {
    private static let message = Array("header.payload".utf8)
    private static let key = ECPrivateKey(.p256, seed: 1, purpose: "signer")

    // MARK: Known answers

    /// RFC 6979 §A.2.5 and §A.2.6: the message "sample".
    @Test(
        arguments: [
            (
                .p256, .ecdsaWithSHA256,
                "EFD48B2AACB6A8FD1140DD9CD45E81D69D2C877B56AAF991C34D0EA84EAF3716",
                "F7CB1C942D657C41D436C7A1B6E29F65F3E900DBB9AFF4064DC4AB2F843ACDA8"
            ),
            (
                .p256, .ecdsaWithSHA384,
                "0EAFEA039B20E9B42309FB1D89E213057CBF973DC0CFC8F129EDDDC800EF7719",
                "4861F0491E6998B9455193E34E7B0D284DDD7149A74B95B9261F13ABDE940954"
            ),
            (
                .p384, .ecdsaWithSHA384,
                "94EDBB92A5ECB8AAD4736E56C691916B3F88140666CE9FA73D64C4EA95AD133C81A648152E44ACF96E36DD1E80FABE46",
                "99EF4AEB15F178CEA1FE40DB2603138F130E740A19624526203B6351D0A3A94FA329C145786E679E7B82C71A38628AC8"
            ),
        ] as [(EllipticCurve, SignatureAlgorithm, String, String)])
    func `the signatures of RFC 6979 verify`(
        curve: EllipticCurve, algorithm: SignatureAlgorithm, r: String, s: String
    ) throws {
        let key = try Self.publishedKey(on: curve), message = Array("sample".utf8)
        let numbers = [UInt8](hexadecimal: r + s), signature = ECDSASigValue.encode(numbers.span)
        for other in SignatureAlgorithm.allCases where !other.isRSA && other != .es256 {
            #expect(try key.verifies(signature, over: message, other) == (other == algorithm))
        }
        if algorithm == .ecdsaWithSHA256 { #expect(try key.verifies(numbers, over: message, .es256)) }
    }

    private static func publishedKey(on curve: EllipticCurve) throws -> PublicKey {
        let coordinates =
            switch curve {
            case .p256:
                "60FED4BA255A9D31C961EB74C6356D68C049B8923B61FA6CE669622E60F29FB6"
                    + "7903FE1008B8BC99A41AE9E95628BC64F2F1B20C2D7E9F5177A3C294D4462299"
            case .p384:
                "EC3A4E415B4E19A4568618029F427FA5DA9A8BC4AE92E02E06AAE5286B300C64DEF8F0EA9055866064A254515480BC13"
                    + "8015D9B72D7D57244EA8EF9AC0C621896708A59367F9DFB9F54CA84B3F1C9DB1288B231C3AE0D4FE7344FD2533264720"
            }
        let key = PublicKey(point: [UInt8](hexadecimal: "04" + coordinates).span, on: curve)
        return try #require(key)
    }

    // MARK: Kinds of keys

    @Test(arguments: SignatureAlgorithm.allCases)
    func `a key verifies with the algorithms of its kind alone`(algorithm: SignatureAlgorithm) throws {
        let rsa = try OwnedCertificate(Samples.pki.leaf.der)
        let keys: [(PublicKey, Set<SignatureAlgorithm>)] = [
            (try rsa.fields.publicKey.publicKey(in: rsa.bytes.span), [.sha1WithRSA, .sha256WithRSA]),
            (try Self.key.publicKey(), [.ecdsaWithSHA256, .ecdsaWithSHA384, .es256]),
            (try ECPrivateKey(.p384, seed: 1, purpose: "p384").publicKey(), [.ecdsaWithSHA256, .ecdsaWithSHA384]),
        ]
        for (key, algorithms) in keys {
            for count in [0, 64, 96, 256] {
                let signature = [UInt8](repeating: 1, count: count)
                if algorithms.contains(algorithm) {
                    #expect(try !key.verifies(signature, over: Self.message, algorithm))
                } else {
                    #expect(throws: ReceiptError(.keyAlgorithmMismatch)) {
                        try key.verifies(signature, over: Self.message, algorithm)
                    }
                }
            }
        }
    }

    @Test func `a transaction's signature under a P-384 key is refused for its algorithm`() throws {
        let key = ECPrivateKey(.p384, seed: 1, purpose: "p384"), publicKey = try key.publicKey()
        let signature = key.fixedLengthSignature(over: Self.message, digest: .sha256)
        #expect(throws: ReceiptError(.keyAlgorithmMismatch)) {
            try publicKey.verifies(signature, over: Self.message, .es256)
        }
    }

    // MARK: ES256

    @Test func `a flipped bit anywhere makes another signature`() throws {
        let key = try Self.key.publicKey(),
            signature = Self.key.fixedLengthSignature(over: Self.message, digest: .sha256)
        #expect(try key.verifies(signature, over: Self.message, .es256))
        for place in signature.indices {
            var flipped = signature
            flipped[place] ^= 1 << UInt8(place % 8)
            #expect(try !key.verifies(flipped, over: Self.message, .es256))
        }
        for place in Self.message.indices {
            var flipped = Self.message
            flipped[place] ^= 1 << UInt8(place % 8)
            #expect(try !key.verifies(signature, over: flipped, .es256))
        }
    }

    @Test func `r and s have 32 bytes each, and no other form is a signature`() throws {
        let key = try Self.key.publicKey(),
            signature = Self.key.fixedLengthSignature(over: Self.message, digest: .sha256)
        let others: [[UInt8]] = [
            [], [0], Array(signature.dropLast()), Array(signature.dropFirst()), signature + [0], [0] + signature,
            signature + signature, [0] + signature.prefix(32) + [0] + signature.suffix(32),
            [0, 0] + signature.prefix(32) + [0, 0] + signature.suffix(32),
            ECDSASigValue.encode(signature.span), Self.key.signature(over: Self.message, digest: .sha256),
            [UInt8](repeating: 1, count: 1 << 20),
        ]
        for other in others { #expect(try !key.verifies(other, over: Self.message, .es256)) }
    }

    @Test func `r and s lie between zero and the order of the group`() throws {
        let key = try Self.key.publicKey(),
            signature = Self.key.fixedLengthSignature(over: Self.message, digest: .sha256)
        let (r, s) = (Array(signature.prefix(32)), Array(signature.suffix(32)))
        let zero = [UInt8](repeating: 0, count: 32), ones = [UInt8](repeating: 0xFF, count: 32)
        for (r, s) in [(zero, s), (r, zero), (zero, zero), (Self.order, s), (r, Self.order), (ones, s), (r, ones)] {
            #expect(try !key.verifies((r + s), over: Self.message, .es256))
        }
    }

    /// FIPS 186-4 §6.4 allows both, so only the signed content tells signatures apart.
    @Test func `a signature and its mirror image are both genuine`() throws {
        let key = try Self.key.publicKey(),
            signature = Self.key.fixedLengthSignature(over: Self.message, digest: .sha256)
        let mirrored = BigNumber(Self.order).subtracting(BigNumber(Array(signature.suffix(32)))).bytes
        let padded = [UInt8](repeating: 0, count: 32 - mirrored.count) + mirrored
        #expect(try key.verifies((signature.prefix(32) + padded), over: Self.message, .es256))
    }

    @Test(arguments: [0, 32]) func `numbers that begin with zero are numbers all the same`(place: Int) throws {
        let key = try Self.key.publicKey()
        // One signature in 256 has such a number.
        let found = (0..<20_000).lazy.map { _ in Self.key.fixedLengthSignature(over: Self.message, digest: .sha256) }
            .first { $0[place] == 0 }
        #expect(try key.verifies(try #require(found), over: Self.message, .es256))
    }

    @Test(
        arguments: [
            ([0x00, 0x00], [0x30, 6, 2, 1, 0, 2, 1, 0]), ([0x7F, 0x80], [0x30, 7, 2, 1, 0x7F, 2, 2, 0, 0x80]),
            ([0x00, 0x01, 0x00, 0x80], [0x30, 7, 2, 1, 1, 2, 2, 0, 0x80]),
            ([0x80, 0x00, 0x01, 0x00], [0x30, 9, 2, 3, 0, 0x80, 0, 2, 2, 1, 0]),
        ] as [([UInt8], [UInt8])])
    func `both numbers are written in their shortest form`(numbers: [UInt8], encoding: [UInt8]) {
        #expect(ECDSASigValue.encode(numbers.span) == encoding)
    }

    /// FIPS 186-4 §D.1.2.3: n of P-256.
    private static let order = [UInt8](
        hexadecimal: "FFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551")
}

extension ECPrivateKey {
    /// The public key, read as from a certificate.
    fileprivate func publicKey() throws -> PublicKey {
        let bytes = subjectPublicKeyInfo.encoded
        var reader = DERReader(bytes.span)
        return try SubjectPublicKeyInfo(&reader).publicKey(in: bytes.span)
    }
}

extension [UInt8] {
    fileprivate init(hexadecimal text: String) {
        let digits = text.compactMap(\.hexDigitValue)
        self = stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }
}
