// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

import Receipts
import Testing

@testable import RedisStore
@testable import Settings

struct StoreKeysTests {
    private static let secret = String(repeating: "QUFB", count: 10) + "QUE="
    private static let other = String(repeating: "QkJC", count: 10) + "QkI="

    @Test func `the first key encrypts, all are found by their IDs`() throws {
        let keys = try StoreKeys(" a:\(Self.secret),\n b_2-:\(Self.other)\n")
        #expect(keys.all.map(\.id) == ["a", "b_2-"] && keys.first.id == "a")
        #expect(keys.key(id: "b_2-".utf8)?.id == "b_2-" && keys.key(id: "c".utf8) == nil)
        #expect(StoreNames(keys.all[0]).name("x", []) != StoreNames(keys.all[1]).name("x", []))
    }

    @Test func `no byte of a key is shown`() throws {
        let keys = try StoreKeys("a:\(Self.secret)")
        var shown = "\(keys) \(String(reflecting: keys.first))"
        dump(keys, to: &shown)
        // 65 is the first byte.
        #expect(!shown.contains("65") && shown.contains("StoreKey(a)"), "\(shown)")
    }

    /// Computed by another program with Python's hmac and cryptography. Other bytes would part a fleet of two versions.
    @Test func `names and sealed values are those of every version`() throws {
        let keys = try StoreKeys("a:\(Self.secret)")
        #expect(StoreNames(keys.first).name("x", [[1, 2], [3]]) == "PprsAKup-IoK58GVaaBKirb7TNW15HoGtMx0iBOZLQU")
        let sealed = try Base64.decode("AQFhAAECAwQFBgcICQoLAvq9xttvlEBIRd0CGJ1RKI8UlO6IhmGgdgP6YDroLw==")
        #expect(try StoreSeal(keys: keys).open(sealed, for: "rc:4:name") == Array("what Apple said".utf8))
    }

    @Test func `names and encryption use different keys`() throws {
        let key = try StoreKeys("a:\(Self.secret)").first
        #expect(StoreNames(key).name("x", []) != StoreNames(key: StoreSeal.SealingKey(key).key).name("x", []))
    }

    @Test(
        arguments: [
            ("", .noID(number: 1)), (secret, .noID(number: 1)), ("a:\(secret),", .noID(number: 2)),
            (":\(secret)", .badID(number: 1)), ("a.c:\(secret)", .badID(number: 1)),
            ("\u{E9}:\(secret)", .badID(number: 1)), ("abcdefghijklmnopq:\(secret)", .badID(number: 1)),
            ("a:\(secret),a:\(other)", .idTwice(number: 2)), ("a:\(secret),b:\(secret)", .keyTwice(number: 2)),
            ("a:!", .notBase64(number: 1)), ("a:", .notBase64(number: 1)), ("a:QUFB", .wrongLength(number: 1)),
            ("a:\(secret)QUFB", .notBase64(number: 1)), ("a:x,b:x,c:x,d:x,e:x", .tooMany),
        ] as [(String, StoreKeysFault)])
    func `an invalid list is rejected, and the fault contains no key`(text: String, fault: StoreKeysFault) {
        #expect(throws: fault) { try StoreKeys(text) }
        #expect(!fault.description.contains(Self.secret.prefix(4)))
    }

    @Test func `an ID may have sixteen characters, a list four keys`() throws {
        #expect(try StoreKeys("abcdefghijklmnop:\(Self.secret)").all.count == 1)
        let list = ["QUFB", "QkJC", "Q0ND", "RERE"].enumerated().map { index, word in
            "\(index):" + String(repeating: word, count: 10) + "QUE="
        }
        #expect(try StoreKeys(list.joined(separator: ",")).all.count == 4)
    }
}
