// SPDX-License-Identifier: Apache-2.0

#if DEBUG || RECEIPT_FUZZING
    internal import Gateway
    internal import Resilience
    internal import Receipts
    @testable internal import Clients

    extension FuzzTarget {
        /// Checks that a clients file is rejected with reasons, or that every client in it keeps the rules of the file.
        static func checkClients(_ bytes: [UInt8]) throws {
            let text = String(decoding: bytes, as: UTF8.self)
            do {
                let file = try read(text)
                try file.check()
                let again = try? read(text)
                try expect(
                    again?.clients == file.clients && again?.sharedSecrets.keys == file.sharedSecrets.keys,
                    "a file that is read differently the second time")
            } catch let problems as ConfigurationProblems {
                try expect(!problems.problems.isEmpty, "rejected without a reason")
                for problem in problems.problems {
                    let isOneLine = problem.description.allSatisfy { !$0.isNewline }
                    try expect(isOneLine && !problem.fault.isEmpty, "a reason that is not one line")
                    try expect(!problem.description.contains(fileSecret), "a reason that shows a secret")
                }
            }
        }

        private static func read(_ text: String) throws(ConfigurationProblems) -> ClientsFile {
            try ClientsFile(
                text, path: "clients.yaml", now: Timestamp(millisecondsSince1970: 1_790_000_000_000),
                readFile: { (path: String) throws(FileFault) -> String in
                    guard path.hasPrefix("/") else { throw FileFault(path: path, description: "does not exist") }
                    return fileSecret + String(path.dropFirst())
                })
        }

        /// The contents of a shared secret's file.
        private static let fileSecret = "0123456789abcdef0123456789abcdef"
    }

    extension ClientsFile {
        fileprivate func check() throws {
            let ids = clients.flatMap(\.keys).map(\.id), now = Timestamp(millisecondsSince1970: 1_790_000_000_000)
            try expect(Set(clients.map(\.name)).count == clients.count, "two clients with one name")
            try expect(Set(ids).count == ids.count, "two keys with one id")
            for client in clients {
                try expect(!client.name.isEmpty && client.apps != .only([]), "a client without a name or an app")
                try expect(client.keys.count { $0.expires.isAhead(of: now) } <= 2, "more than two active keys")
                try expect(client.keys.allSatisfy { $0.hash.count == 32 && !$0.id.isEmpty }, "a key without a hash")
                try client.limits.check()
            }
            for secret in sharedSecrets { try expect(!secret.key.isEmpty && secret.key != "*", "a secret of no app") }
        }
    }

    extension ClientLimits {
        fileprivate func check() throws {
            try expect(policies.count <= ClientsFile.LimitBounds.policies, "more limits than are read")
            try expect(Set(policies.map(\.rate.name)).count == policies.count, "two limits with one name")
            if let concurrency {
                try expect(ClientsFile.LimitBounds.concurrency.contains(concurrency), "\(concurrency) in flight")
            }
            for policy in policies {
                try expect(
                    RatePolicy.Limits.tokens.contains(policy.rate.quota)
                        && RatePolicy.Limits.tokens.contains(policy.rate.burst)
                        && ClientsFile.LimitBounds.window.contains(policy.rate.window), "a limit beyond its bounds")
                try expect(
                    policy.costs.values.allSatisfy { (1...policy.rate.burst).contains($0) },
                    "a request that could never be made")
            }
        }
    }
#endif
