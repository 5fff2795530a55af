// SPDX-License-Identifier: Apache-2.0

#if DEBUG || RECEIPT_FUZZING
    @testable internal import AppStore
    @testable internal import API
    internal import Gateway
    internal import HTTPClient

    extension FuzzTarget {
        /// Checks the part of a proxy path after `/v1/apple/`, with its query. The first byte chooses the method, and
        /// whether there is a body.
        static func checkServerAPICall(_ input: [UInt8]) throws {
            // The edge refuses a target that is not ASCII.
            guard let choice = input.first, input.dropFirst().allSatisfy({ $0 < 0x80 }) else { return }
            let method = methods[Int(choice) % methods.count], body = choice & 4 == 0 ? [] : Array("{}".utf8)
            let parts = input.dropFirst().split(
                separator: UInt8(ascii: "?"), maxSplits: 1, omittingEmptySubsequences: false
            ).map { String(decoding: $0, as: UTF8.self) }
            guard let target = AppleProxyTarget(parts[0]) else { return }
            try target.check(parts[0])
            let query = parts.dropFirst().first
            guard let call = try? ServerAPICall(method: method, path: target.path, query: query, body: body) else {
                return
            }
            try expect(call.method.rawValue == method && call.body == body, "another call than was sent")
            let sent = target.path.hasSuffix("/") ? String(target.path.dropLast()) : target.path
            try expect(call.path.utf8.elementsEqual(sent.utf8), "another path than was sent")
            try call.checkPath()
            try call.checkQuery(query)
            let again = try? ServerAPICall(method: method, path: call.path, query: call.query, body: body)
            try expect(again == call, "a call that is read otherwise than written")
        }

        private static let methods = ["GET", "POST", "PUT", "DELETE"]
    }

    /// Characters that mean the same in every URL, encoded or not (RFC 3986 §2.3), without the tilde.
    private let nameCharacters = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._".utf8)
    private let queryCharacters = nameCharacters.union("~%=&".utf8)

    extension AppleProxyTarget {
        fileprivate func check(_ text: String) throws {
            let written = ["", "/"].map { "\(bundleID)/\(environment.rawValue)\($0)\(path)" }
            try expect(written.contains { $0.utf8.elementsEqual(text.utf8) }, "another target than was sent")
            // It is a claim of the token for Apple.
            try expect(bundleID.utf8.allSatisfy(nameCharacters.contains), "a character that no bundle ID has")
            try expect((1...155).contains(bundleID.utf8.count), "a bundle ID of \(bundleID.utf8.count) bytes")
            try expect(bundleID.utf8.first != UInt8(ascii: "."), "a bundle ID that begins with a dot")
        }
    }

    extension ServerAPICall {
        /// Checks that no reader of URLs finds another path in it: nothing is encoded, and nothing is resolved.
        fileprivate func checkPath() throws {
            let roots = ["/inApps/", "/advancedCommerce/"]
            try expect(roots.contains { path.utf8.starts(with: $0.utf8) }, "a path outside Apple's APIs")
            let segments = path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).dropFirst()
            for segment in segments {
                try expect(segment.allSatisfy(nameCharacters.contains), "a path beyond its characters")
                try expect(segment.contains { $0 != UInt8(ascii: ".") }, "a segment that is empty or only dots")
            }
            // Results about it are purged after a change.
            let isNamed = transactionID.map { id in segments.contains { $0.elementsEqual(id.utf8) } }
            try expect(isNamed ?? true, "a transaction that is not in the path")
        }

        /// Checks that the query has the names and values that were sent, in order.
        fileprivate func checkQuery(_ sent: String?) throws {
            try expect(query?.utf8.allSatisfy(queryCharacters.contains) ?? true, "a query beyond its characters")
            let items = try ServerAPIQuery.items(of: sent ?? "")
            let written = try? ServerAPIQuery.items(of: query ?? "")
            try expect(written?.elementsEqual(items, by: ==) ?? false, "other parameters than were sent")
        }
    }
#endif
