// SPDX-License-Identifier: Apache-2.0

import Receipts
import Testing

@testable import Clients
@testable import RedisStore

struct StoreKeysTests {
    private static let secret = String(repeating: "QUFB", count: 10) + "QUE="
    private static let other = String(repeating: "QkJC", count: 10) + "QkI="

    @Test func `the keys have the order of the list, and the first is for new values`() throws {
        let keys = try StoreKeys(" a:\(Self.secret),\n b_2-:\(Self.other)\n")
        #expect(keys.all.map(\.id) == ["a", "b_2-"] && keys.first.id == "a")
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
            ("", "has nothing in place of key 1"), (secret, "lacks an ID and a colon before key 1"),
            ("a:\(secret),", "has nothing in place of key 2"),
            (":\(secret)", "needs an ID of 1 to 16 letters, digits, _ and - before key 1"),
            ("a.c:\(secret)", "needs an ID of 1 to 16 letters, digits, _ and - before key 1"),
            ("\u{E9}:\(secret)", "needs an ID of 1 to 16 letters, digits, _ and - before key 1"),
            ("abcdefghijklmnopq:\(secret)", "needs an ID of 1 to 16 letters, digits, _ and - before key 1"),
            ("a:\(secret),a:\(other)", "has the ID of key 2 twice"),
            ("a:\(secret),b:\(secret)", "has key 2 twice, under two IDs"),
            ("a:!", "has a key that is not base64: key 1"), ("a:", "has a key that is not base64: key 1"),
            ("a:QUFB", "has a key that is not 32 bytes long: key 1"),
            ("a:\(secret)QUFB", "has a key that is not base64: key 1"),
            ("a:x,b:x,c:x,d:x,e:x", "has more than 4 keys"),
        ])
    func `an invalid list is rejected, and the fault contains no key`(text: String, fault: String) {
        #expect(throws: ConfigurationValueFault(description: fault)) { try StoreKeys(text) }
        #expect(!fault.contains(Self.secret.prefix(4)))
    }

    @Test func `an ID may have sixteen characters, a list four keys`() throws {
        #expect(try StoreKeys("abcdefghijklmnop:\(Self.secret)").all.count == 1)
        let list = ["QUFB", "QkJC", "Q0ND", "RERE"].enumerated().map { index, word in
            "\(index):" + String(repeating: word, count: 10) + "QUE="
        }
        #expect(try StoreKeys(list.joined(separator: ",")).all.count == 4)
    }
}
