// SPDX-License-Identifier: Apache-2.0

#if DEBUG || RECEIPT_FUZZING
    @testable internal import AppStore
    internal import Gateway
    @testable internal import HTTPClient
    internal import JSON
    internal import Receipts

    extension FuzzTarget {
        /// Checks response headers of Apple: the first character of each line chooses the field. Each line is also
        /// tried as a date.
        static func checkHeader(_ bytes: [UInt8]) throws {
            // The transport hands out ASCII.
            let visible = bytes.map { $0 < 0x80 ? $0 : UInt8(ascii: "?") }
            let lines = visible.split(separator: UInt8(ascii: "\n"), maxSplits: 32).map { line in
                (name: line.first ?? 0, value: String(decoding: line.dropFirst(), as: UTF8.self))
            }
            let fields = lines.map { TransportHeader(name: names[Int($0.name) % names.count], value: $0.value) }
            try ReplyHead(AppleAnswer.answer(fields), at: AppleAnswer.now).check()
            for line in lines {
                try checkHTTPDate(line.value)
                try checkAppleDate(line.value)
            }
        }

        private static let names = [
            "Retry-After", "Sunset", "Deprecation", "Link", "Date", "x-apple-jingle-correlation-key",
        ]

        /// Checks that an HTTP date is read back from the one form in which dates are sent.
        private static func checkHTTPDate(_ text: String) throws {
            guard let date = HTTPDate.timestamp(text, now: AppleAnswer.now) else { return }
            try expect(date.millisecondsSince1970 % 1000 == 0, "parts of a second in a date of HTTP")
            let written = HTTPDate.text(date)
            try expect(HTTPDate.timestamp(written, now: AppleAnswer.now) == date, "a date of HTTP read otherwise")
        }

        /// Checks that Apple's date is read back from each of its forms, as precisely as the form allows.
        private static func checkAppleDate(_ text: String) throws {
            guard let date = AppleDate(text) else { return }
            try expect(AppleDate(date.milliseconds) == date, "milliseconds read otherwise than written")
            // Years of four digits, and a day less on both sides, because Los Angeles is hours behind.
            let milliseconds = date.timestamp.millisecondsSince1970
            guard (-62_167_132_800_000..<253_402_214_400_000).contains(milliseconds) else { return }
            let second = milliseconds - ((milliseconds % 1000) + 1000) % 1000
            try expect(
                AppleDate(date.gmt)?.timestamp.millisecondsSince1970 == second, "a date read otherwise than written")
            let pacific = AppleDate(date.pacific)
            try expect(pacific?.pacific == date.pacific, "a date of Los Angeles read otherwise than written")
            let difference = abs((pacific?.timestamp.millisecondsSince1970 ?? 0) - second)
            try expect([0, 3_600_000].contains(difference), "a date of Los Angeles that is \(difference) ms off")
        }

        /// Checks bodies of responses: nothing is read unless Apple vouches for a receipt, and the written tree is read
        /// like the original bytes.
        static func checkAnswer(_ bytes: [UInt8]) throws {
            guard let response = try? VerifyReceiptResponse(parsing: bytes) else { return }
            try response.check()
            let again = try? VerifyReceiptResponse(parsing: response.json.bytes)
            try expect(again.map(ReadAnswer.init) == ReadAnswer(response), "a written answer is read otherwise")
            guard let reply = UpstreamAnswer(response, from: .sandbox, at: AppleAnswer.now) else { return }
            try expect(reply.body == bytes, "an answer with another body")
            let ids = reply.transactions.map(\.transactionID)
            try expect(Set(ids).count == ids.count, "a transaction appears twice")
        }
    }

    private enum AppleAnswer {
        static let now = Timestamp(millisecondsSince1970: 1_790_000_000_000)

        static func answer(_ fields: [TransportHeader]) -> TransportResponse {
            TransportResponse(
                status: 429, headers: fields, body: [], httpVersion: .http1_1,
                connectionWasReused: false,
                took: .zero)
        }
    }

    extension ReplyHead {
        fileprivate func check() throws {
            if let retryAfter {
                try expect(
                    retryAfter >= .zero && retryAfter <= RetryAfter.maximum, "asked to wait for \(retryAfter)")
            }
            if let correlationKey {
                let isHarmless = correlationKey.utf8.allSatisfy { (0x2D...0x7A).contains($0) && $0 != 0x2F }
                try expect(isHarmless && (1...64).contains(correlationKey.utf8.count), "an invalid correlation key")
            }
            try expect(announcements.links.count <= EndpointAnnouncements.Limits.links, "more links than are kept")
            try expect(Set(announcements.links).count == announcements.links.count, "a link appears twice")
            for link in announcements.links {
                try FuzzTarget.checkPublishable(link.target)
                let read = LinkField.links("<\(link.target)>; rel=\"\(link.relation.rawValue)\"")
                try expect(read?.flatMap(\.announcements) == [link], "a link that is published is read otherwise")
            }
        }
    }

    extension VerifyReceiptResponse {
        fileprivate func check() throws {
            if status == .valid { try expect(receipt != nil, "valid, and no receipt") }
            guard !status.confirmsReceipt else { return }
            let isSilent =
                receipt == nil && environment == nil && latestReceipt == nil && latestReceiptInfo.isEmpty
                && latestExpiredReceiptInfo.isEmpty && pendingRenewalInfo.isEmpty
            try expect(isSilent, "something is read where Apple does not vouch for it")
        }
    }

    /// The fields that decide about entitlements.
    private struct ReadAnswer: Equatable {
        let status: VerifyReceiptStatus
        let environment: Environment?
        let bundleID: String?
        let transactions: [[String]]
        let renewals: Int

        init(_ response: VerifyReceiptResponse) {
            (status, environment) = (response.status, response.environment)
            bundleID = response.receipt?.bundleID
            let transactions =
                (response.receipt?.inApp ?? []) + response.latestReceiptInfo + response.latestExpiredReceiptInfo
            self.transactions = transactions.map { transaction in
                let dates = [transaction.purchaseDate, transaction.expiresDate, transaction.cancellationDate]
                return [transaction.productID, transaction.transactionID, transaction.originalTransactionID ?? "–"]
                    + dates.map { date in date.map { "\($0)" } ?? "–" } + ["\(transaction.isUpgraded)"]
            }
            renewals = response.pendingRenewalInfo.count
        }
    }
#endif
