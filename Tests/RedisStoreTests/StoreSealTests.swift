// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import RedisStore
@testable import ServerTestSupport

struct StoreSealTests {
    private let seal = StoreSeal(keys: StoreSamples.keys())
    private let value = Array("what Apple said".utf8)

    @Test func `a value decrypts under its name, and each encryption differs`() throws {
        let sealed = seal.seal(value, for: "n")
        #expect(try seal.open(sealed, for: "n") == value)
        #expect(seal.seal(value, for: "n") != sealed)
        #expect(try seal.open(seal.seal([], for: ""), for: "") == [])
        #expect(sealed.count == 2 + 5 + 12 + value.count + 16)
    }

    @Test func `a value under another name does not decrypt`() {
        let sealed = seal.seal(value, for: "n")
        #expect(throws: SharedCacheFault.sealInvalid) { try seal.open(sealed, for: "m") }
    }

    @Test func `every changed bit is detected`() {
        let sealed = seal.seal(value, for: "n")
        for index in sealed.indices {
            for bit in 0..<8 {
                var changed = sealed
                changed[index] ^= 1 << bit
                #expect(throws: SharedCacheFault.self) { try seal.open(changed, for: "n") }
            }
        }
    }

    @Test func `no truncated or extended value decrypts`() {
        let sealed = seal.seal(value, for: "n")
        for length in sealed.indices {
            #expect(throws: SharedCacheFault.self) { try seal.open(Array(sealed.prefix(length)), for: "n") }
        }
        #expect(throws: SharedCacheFault.sealInvalid) { try seal.open(sealed + [0], for: "n") }
    }

    @Test func `another version, an unknown key and a wrong key give different faults`() {
        let sealed = seal.seal(value, for: "n")
        #expect(throws: SharedCacheFault.sealMalformed) { try seal.open([2] + sealed.dropFirst(), for: "n") }
        let stranger = StoreSeal(keys: StoreSamples.keys(StoreSamples.secondKey))
        #expect(throws: SharedCacheFault.sealUnknownKey) { try stranger.open(sealed, for: "n") }
        let sameID = StoreSeal(keys: StoreSamples.keys(StoreSamples.secondKey.replacing("2026b", with: "2026a")))
        #expect(throws: SharedCacheFault.sealInvalid) { try sameID.open(sealed, for: "n") }
    }

    @Test func `any of several keys decrypts, the first encrypts`() throws {
        let both = StoreSeal(keys: StoreSamples.keys("\(StoreSamples.secondKey),\(StoreSamples.firstKey)"))
        #expect(try both.open(seal.seal(value, for: "n"), for: "n") == value)
        #expect(throws: SharedCacheFault.sealUnknownKey) { try seal.open(both.seal(value, for: "n"), for: "n") }
    }
}
