// SPDX-License-Identifier: Apache-2.0

import ReceiptForge
import Receipts
import Testing

struct ConcurrencyTests {
    /// Mixes genuine receipts under several chains with faults of chain, signature and content: contexts, keys and
    /// chains are shared between tasks, answers are not.
    @Test func `one verifier answers many tasks at once, each of them right`() async throws {
        let faults = [
            "signature-bit-flipped", "content-spliced", "leaf-without-marker", "sha1-digest", "bundle-id-with-nul",
        ]
        let faulty = try faults.map { name in
            let fault = try #require(ReceiptFault(named: name))
            return (try Base64.decode(Samples.forge.evidence(with: fault).base64), fault.expected.reason)
        }
        let genuine = (1...6).map { number in
            (Samples.forge.receipt(leafSerialNumber: [UInt8(number)]), nil as String?)
        }
        let questions = faulty + genuine
        for _ in 1...3 {
            let verifier = try ReceiptVerifier.trustingSamples()
            let wrong = await withTaskGroup(of: Int.self) { group in
                for task in 0..<16 {
                    group.addTask {
                        (0..<60).count { turn in
                            let (receipt, reason) = questions[(task + turn) % questions.count]
                            return verifier.brokenRule(of: receipt)?.rawValue != reason
                        }
                    }
                }
                return await group.reduce(0, +)
            }
            #expect(wrong == 0)
        }
    }

    @Test func `fingerprints are right from many tasks at once`() async {
        let inputs = (0..<64).map { [UInt8](repeating: UInt8($0), count: $0 * 97) }
        let expected = inputs.map { Fingerprint(of: $0.span) }
        let wrong = await withTaskGroup(of: Int.self) { group in
            for task in 0..<8 {
                group.addTask {
                    (0..<640).count { turn in
                        let index = (task * 7 + turn) % inputs.count
                        let input = inputs[index]
                        return Fingerprint(of: input.span) != expected[index]
                    }
                }
            }
            return await group.reduce(0, +)
        }
        #expect(wrong == 0 && Set(expected).count == inputs.count)
    }
}
