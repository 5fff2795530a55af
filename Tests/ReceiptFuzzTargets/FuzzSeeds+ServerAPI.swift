// SPDX-License-Identifier: Apache-2.0

#if DEBUG || RECEIPT_FUZZING
    internal import ReceiptForge
    internal import Receipts

    extension FuzzSeeds {
        /// Calls through the proxy, and replies to them.
        static var serverAPI: [(String, [UInt8])] {
            let calls = (genuineCalls + hostileCalls).map { FuzzTarget.serverAPICall.input(Array($0.utf8)) }
            let replies = (answers + changedAnswers + otherReplies).map(FuzzTarget.serverAPIReply.input)
            return calls.enumerated().map { ("server-api-call-\($0)", $1) }
                + replies.enumerated().map { ("server-api-reply-\($0)", $1) }
                + histories.enumerated().map { ("history-\($0)", FuzzTarget.history.input($1)) }
                + notifications.enumerated().map { ("notification-\($0)", FuzzTarget.notification.input($1)) }
        }

        /// A subscription with a renewal, a refund and an item that cannot be read.
        private static var histories: [[UInt8]] {
            var renewed = TransactionContents(), refunded = TransactionContents()
            renewed.transactionID = "2000000900000003"
            renewed.expiresDate = TransactionContents.signedByDefault.advanced(by: .seconds(3600))
            refunded.revocationDate = TransactionContents.signedByDefault
            let payloads = [TransactionContents(), renewed, refunded].map(\.payload)
            let odd = String(decoding: renewed.payload, as: UTF8.self).replacing(
                #""expiresDate":"#, with: #""expiresDate":-"#)
            let broken = odd.replacing(#""purchaseDate":"#, with: #""purchaseDate":[],"x":"#)
            return [payloads[0], Array(payloads.joined(separator: [0x0A])), payloads[1] + [0x0A] + Array(broken.utf8)]
        }

        /// A renewal, a plan alone, and a container of an unknown name.
        private static var notifications: [[UInt8]] {
            func payload(_ members: String) -> [UInt8] {
                let date = TransactionContents.signedByDefault.millisecondsSince1970
                return Array(
                    #"{"notificationType":"DID_RENEW","notificationUUID":"u","signedDate":\#(date),\#(members)}"#.utf8)
            }
            let app = #""bundleId":"com.example.forge","environment":"Sandbox""#
            return [
                payload(#""data":{\#(app),"status":1,"signedTransactionInfo":"$0","signedRenewalInfo":"$1"}"#),
                payload(#""data":{\#(app),"status":3,"signedRenewalInfo":"$1"}"#),
                payload(#""news":{\#(app),"signedTransactionInfo":"$0"}"#), payload(#""appData":{\#(app)}"#),
            ]
        }

        private static let app = "com.example.f/sandbox/inApps/"

        /// One call of each operation. `@` and `A` are GET and POST without a body, `E` and `F` POST and PUT with one.
        private static let genuineCalls = [
            "@\(app)v1/transactions/1", "@\(app)v1/history/1?productType=CONSUMABLE&revision=r",
            "@\(app)v2/history/1?revision=a%2Fb%3d%26sort%3DASCENDING&startDate=1&endDate=2&productId=a&productId=b"
                + "&sort=DESCENDING&subscriptionGroupIdentifier=2&inAppOwnershipType=PURCHASED&revoked=true",
            "@\(app)v1/subscriptions/1?status=1&status=5", "@\(app)v1/transactions/appTransactions/1",
            "@com.example.f/production/inApps/v1/lookup/M-1._", "@\(app)v2/refund/lookup/1?revision=~a:b",
            "E\(app)v1/notifications/history?paginationToken=a%25", "A\(app)v1/notifications/test",
            "@\(app)v1/notifications/test/758883e8-151b-47b7-abd0-60c4d804c2f5_1", "F\(app)v1/subscriptions/extend/1",
            "E\(app)v1/subscriptions/extend/mass",
            "@\(app)v1/subscriptions/extend/mass/p/758883e8-151b-47b7-abd0-60c4d804c2f5",
            "F\(app)v2/transactions/consumption/1", "F\(app)v1/transactions/1/appAccountToken",
            "A\(app)v1/transactions/1/finish", "@\(app)v1/messaging/default/p/de-DE", "@\(app)v1/messaging/image/list/",
            "C\(app)v1/messaging/message/758883e8-151b-47b7-abd0-60c4d804c2f5",
            "Ecom.example.f/production//advancedCommerce/v1/subscription/cancel/1",
        ]

        /// Texts that would be other paths at Apple, or other parameters, if a check were missing.
        private static let hostileCalls = [
            "@\(app)v2/history/1%2F2", "@\(app)v2/history/1\r\nHost: x", "@\(app)v2/history/1#a",
            "@\(app)v2/history/1 ", "@\(app)v2/history/1/../../x", "@\(app)/v2/history/1", "@\(app)v1/lookup/..",
            "@\(app)v1/lookup/", "@\(app)v1/transactions/appTransactions", "C\(app)v1/transactions/1",
            "A\(app)v1/transactions/1", "D\(app)v1/transactions/1", "@../sandbox/inApps/v1/lookup/M",
            "@a%2F/sandbox/inApps/v1/lookup/M", "@com.example.f/xcode/inApps/v1/lookup/M",
            "@com.example.f/sandbox/inapps/v1/lookup/M", "@\(app)v2/history/1?", "@\(app)v2/history/1?revision",
            "@\(app)v2/history/1?revision=a+b", "@\(app)v2/history/1?revision=%0D%0AHost:x",
            "@\(app)v2/history/1?revision=é", "@\(app)v2/history/1?revision=a?b#c",
            "@\(app)v2/history/1?revision=%4", "@\(app)v2/history/1?sort=ASCENDING&sort=DESCENDING",
            "@\(app)v2/history/1?status=1",
        ]

        /// Each genuine answer, as it is and with each JWS that must not be in it.
        private static var answers: [[UInt8]] {
            ServerAPIExchange.all.enumerated().flatMap { call, exchange in
                let marks = exchange.answer.indices.filter { exchange.answer[$0] == "$" }
                let forged = marks.flatMap { mark in
                    (5...9).map { digit in
                        let after = exchange.answer.index(mark, offsetBy: 2)
                        return "\(exchange.answer[..<mark])$\(digit)\(exchange.answer[after...])"
                    }
                }
                return ([exchange.answer] + forged).map { [0, UInt8(call), 0] + Array("\n\($0)".utf8) }
            }
        }

        /// Each genuine answer with one change of each kind.
        private static var changedAnswers: [[UInt8]] {
            ServerAPIExchange.all.indices.flatMap { call in
                (0..<6).map { [1, UInt8(call), 0, UInt8(ascii: "\n"), $0, 0x04, 0x10, 0x01] }
            }
        }

        /// Refusals and odd answers. The second character is the call, the third the status: from `6`, these are 200,
        /// 202, 302, 400, 401, 404, 429, 500 and 503.
        private static let otherReplies = [
            #"009\#n{"errorCode":4000006,"errorMessage":"Invalid transaction id."}"#, "00:\nUnauthenticated\n",
            "00;\n{}", #"00;\#n{"errorCode":4040010}"#, "00<5\n", "00<1790000060000\n", "00<\n", "00=\n", "00>60\n",
            "00>\n", "008\n<html>", "007\n{}", "006\n", #"006\#n{"signedTransactionInfo":1}"#, "006\n[]", "076\n<html>",
            #"016\#n{"signedTransactions":["$0"],"bundleId":"com.example.other"}"#,
            #"016\#n{"signedTransactions":["$0"],"environment":"Production"}"#,
            #"016\#n{"signedTransactions":["$0","$1"],"hasMore":"true"}"#, #"006\#n{"signedTransactionInfo":"$4"}"#,
            #"026\#n{"data":[{"lastTransactions":[{"signedTransactionInfo":"$0","signedRenewalInfo":null}]}]}"#,
            #"046\#n{"status":1}"#, #"066\#n{"signedPayload":null}"#,
        ].map { Array($0.utf8) }
    }
#endif
