// SPDX-License-Identifier: Apache-2.0

#if DEBUG || RECEIPT_FUZZING
    @testable internal import Gateway
    internal import Receipts
    @testable internal import RedisStore

    extension FuzzSeeds {
        /// Inputs for the gateway's parsers beside receipts.
        static var gateway: [(String, [UInt8])] {
            seeds("json", of: .json, json) + seeds("reply", of: .reply, replies) + seeds("edge", of: .edge, requests)
                + seeds("header", of: .header, headers) + seeds("answer", of: .answer, answers)
                + seeds("clients", of: .clients, clients) + seeds("forms", of: .form, forms) + stored
                + stores + proxyHeaders
        }

        private static func seeds(
            _ name: String, of target: FuzzTarget, _ texts: [String]
        ) -> [(String, [UInt8])] {
            texts.enumerated().map { ("\(name)-\($0)", target.input(Array($1.utf8))) }
        }

        private static var proxyHeaders: [(String, [UInt8])] {
            let signature: [UInt8] = [0x0D, 0x0A, 0x0D, 0x0A, 0x00, 0x0D, 0x0A, 0x51, 0x55, 0x49, 0x54, 0x0A]
            let ipv4: [UInt8] = [192, 0, 2, 1, 192, 0, 2, 2, 0x30, 0x39, 0x01, 0xBB]
            let ipv6 = [UInt8](repeating: 0x20, count: 36)
            let headers: [[UInt8]] = [
                [0x20, 0, 0, 0], [0x21, 0x11, 0, 12] + ipv4, [0x21, 0x11, 0, 16] + ipv4 + [4, 0, 1, 0],
                [0x21, 0x21, 0, 36] + ipv6, [0x21, 0, 0, 0], [0x21, 0x31, 0, 216],
            ]
            return headers.enumerated().map { ("proxy-header-\($0)", FuzzTarget.proxyHeader.input(signature + $1)) }
        }

        private static let json = [
            #"{"receipt":"QUJD","mode":"auto","max_age":0,"exclude_old_transactions":true,"bundle_id":"com.example.f"}"#,
            #"{"receipt":"QUJD","app_version":"1.0","device_identifier":"QUJDRA=="}"#,
            #"{"receipt-data":"QUJD","password":"0123","exclude-old-transactions":false,"x":[1,2.5e-3,{"a":null}]}"#,
            #" [ [ ] , { } , "\u00e9\ud83c\udf81\b\/" , "é" , -0 , 1E+2 , true , false , null ] "#,
            #"{"a":1,"a":2}"#, #"{"\u0061":1,"a":2}"#, #""\ud800""#, "[[[[[[[[[0]]]]]]]]]", "-", "01", "\u{FEFF}{}",
            "\"0123456789abcdef0123456789abcdef\\n\"", "9223372036854775808",
        ]

        private static let replies = [
            "+OK\r\n:-1000\r\n$5\r\nhe\r\no\r\n$-1\r\n*-1\r\n$0\r\n\r\n-MOVED 1 127.0.0.1:1\r\n",
            "*3\r\n:1\r\n*2\r\n$1\r\na\r\n*0\r\n-NOPERM x\r\n", "*1\r\n*1\r\n*1\r\n*1\r\n:7\r\n", "*65\r\n",
            "$1025\r\n",
            "*2\r\n$600\r\n", "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n", ":\r\n", "$9223372036854775807\r\n", "*-2\r\n",
            "%1\r\n+a\r\n+b\r\n", "$3\r\nabcde", "\r\n",
        ]

        private static let requests = [
            "GET /v1/status HTTP/1.1\r\nHost: x\r\n\r\n",
            "POST /v1/verify HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 4\r\n\r\nbody"
                + "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\nGET /lost HTTP/1.1\r\n\r\n",
            "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3;a=b\r\nabc\r\n0\r\nT: 1\r\n\r\n"
                + "HEAD / HTTP/1.1\r\nHost: x\r\n\r\n",
            "POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\na",
            "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\nGET / HTTP/1.0\r\n\r\n",
            "GET http://x/y?z HTTP/1.1\r\nHost: x\r\n\r\nOPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n",
            "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\nbody",
            "CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n", "GET / HTTP/1.1\nHost: x\n\n", "GET / HTTP/2.0\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: x\r\nA: b\r\n c\r\n\r\n", "GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: x\r\nUpgrade: h2c\r\nConnection: upgrade\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n",
            "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2049\r\n\r\n",
            "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", "\r\n\r\nGET / HTTP/1.1\r\n",
        ]

        /// `B` to `G` are Retry-After, Sunset, Deprecation, Link, Date and Apple's name of the exchange.
        private static let headers = [
            "B120", "B1790000060000", "BSun, 06 Nov 2094 08:49:37 GMT", "CSat, 31 Dec 2033 23:59:59 GMT",
            "CSunday, 06-Nov-94 08:49:37 GMT", "CSun Nov  6 08:49:37 1994", "D@1688169599;p", "Dtrue",
            "E<https://a.example/b>; rel=\"deprecation sunset\"; title=\"a\\\"b\"",
            "E<http://c.d>;rel=successor-version,",
            "FTue, 15 Nov 1994 12:45:26 UTC", "GA1-b_2.c", "2023-10-12 03:01:50 Etc/GMT",
            "x2023-10-12 03:01:50 Etc/GMT",
            "x2023-11-05 01:30:00 America/Los_Angeles", "x1697079710000",
        ]

        private static let answers = [
            #"{"status":0,"environment":"Sandbox","receipt":{"bundle_id":"com.example.f","in_app":["#
                + #"{"product_id":"p","transaction_id":"1","expires_date_ms":"1790000000000","is_upgraded":"true"}]},"#
                + #""latest_receipt_info":[{"product_id":"p","transaction_id":"1","original_transaction_id":"1","#
                + #""purchase_date":"2023-10-12 03:01:50 Etc/GMT"}],"latest_receipt":"QUJD","pending_renewal_info":["#
                + #"{"original_transaction_id":"1","product_id":"p","auto_renew_status":"1","expiration_intent":"2"}]}"#,
            #"{"status":21006,"receipt":{"bid":"com.example.f","product_id":"p","transaction_id":"1","#
                + #""expires_date":"1790000000000"},"latest_expired_receipt_info":{"product_id":"p","#
                + #""transaction_id":"2"},"auto_renew_status":0}"#,
            #"{"status":"21002","exception":"x","is_retryable":true}"#, #"{"status":21007}"#, "<html>", "[]",
        ]

        private static let forms = [
            "apikey=act_1&token=app_1&receipt=++/+/w==", "apikey=a&token=t&receipt=%2B%2B%2F%2B%2Fw%3D%3D&x=1&x=2",
            "%61pikey=a=b&token=&receipt= AQID&receipt=AQID", "apikey=a&token=t&receipt=AQ%0D%0AID", "&&=&%&%4",
            #"{"status":0,"receipt":{"in_app":[]},"latest_receipt_info":[{"a":"1"}],"environment":"Sandbox"}"#,
            #"{"receipt":{"latest_receipt_info":1},"latest_receipt":"AQID"}"#,
        ]

        private static let clients = [
            """
            clients:
              - name: shop
                apps: [com.example.f]
                may: [purge]
                keys:
                  - {id: rgk_1, hash: "hmac-sha256:\(String(repeating: "0a", count: 32))", expires: 2027-01-01}
                limits:
                  - {name: m, quota: 10, window: 60s, burst: 5, per: app, cost: {apple: 2}, when_store_fails: local}
                concurrency: 2
            defaults: {limits: [{name: d, quota: 100, window: 1d, shadow: true, lease: never, cost: 3}]}
            apps:
              - {bundle_id: com.example.f, shared_secret_file: /a}
            """,
            #"{"clients":[{"name":"a","apps":"*","keys":[]},{"name":"a","apps":["*","b"],"keys":[{"id":"1"}]}]}"#,
            "clients: &a [*a]\n", "apps: [{bundle_id: x, shared_secret: 0123}]\nclients: []\n", "clients:\n\t- x\n", "",
        ]

        private static var stored: [(String, [UInt8])] {
            let asked = Timestamp(millisecondsSince1970: 1_790_000_000_000)
            let results: [UpstreamResult] = [
                .accountNotFound, .unanswered(.upstreamDisagrees), .answered(answer), .unknownTransaction(.idInvalid),
                .alias(TransactionAlias(originalTransactionID: "1", environment: .sandbox, bundleID: "a.b")),
            ]
            let values = results.compactMap { result in
                let known = CachedResult(
                    result, fetchedAt: asked, freshUntil: asked.advanced(by: .seconds(60)), took: .milliseconds(250))
                return StoredResult(known: known, retention: FreshnessPolicy().retention(of: known)).bytes
            }
            let note = #"{"deprecation_ms":1,"sunset_ms":2,"links":[{"rel":"sunset","href":"https://a.example/"}]}"#
            let sealed = [0, 1, 5] + Array("2026a".utf8) + [UInt8](repeating: 7, count: 40)
            let changes: [[UInt8]] = [[1, 1, 0, 9, 1], [1, 4, 0, 0, 9]]
            let inputs = [sealed, [0, 2]] + changes + values.map { [2] + $0 } + [[3] + Array(note.utf8)]
            return inputs.enumerated().map { ("stored-\($0)", FuzzTarget.stored.input($1)) }
        }

        /// Replies to the commands of each store, in the order of `checkStores`.
        private static var stores: [(String, [UInt8])] {
            let entry = array(text("1-0"), array(["i", "1", "e", "x", "b", "9"].map(text)))
            let survey = array(
                number(1), number(9), text("-1"), text("5"), number(0), number(1), text("n"), text("7"),
                text("noeviction"), text("-1"), number(0))
            let none = array()
            let replies = [
                text("1-0-1") + array(text("1-0-1"), array(entry), number(0)) + array(text("9-0-9"), none, number(2)),
                survey + array(number(3), text("1-0"), text("x")) + array(none),
                array(text("token"), text("1-0-1"), none, none) + array(number(1), number(2), text("1-0-1"), text("0")),
                array(number(1), number(2), text("3"), number(4), number(5)) + none,
                none + array(text("same"), number(4), none, array(text("a")), text("2026a:x"), text("tag")) + none,
                array(text("1f:2:a"), text("1"), text("x"), text("y")) + text("1f:3:b")
                    + array(text("1f:3:b"), text("3")),
                array(number(1), number(1), number(0), number(59), number(0)),
                array(entry) + none + number(1) + array(text("gw:{n:a:0}:delivery:a:b:events")),
            ]
            return replies.enumerated().map {
                ("stores-\($0)", FuzzTarget.stores.input([UInt8($0)] + Array($1.utf8)))
            }
        }

        // RESP2: the protocol of Redis.

        private static func text(_ text: String) -> String { "$\(text.utf8.count)\r\n\(text)\r\n" }

        private static func number(_ number: Int) -> String { ":\(number)\r\n" }

        private static func array(_ elements: String...) -> String { array(elements) }

        private static func array(_ elements: [String]) -> String { "*\(elements.count)\r\n" + elements.joined() }

        private static var answer: UpstreamAnswer {
            var transaction = Transaction(productID: "p", transactionID: "1")
            transaction.expiresDate = Timestamp(millisecondsSince1970: 1_790_000_000_000)
            (transaction.ownership, transaction.isTrialPeriod) = (.purchased, false)
            transaction.productType = .autoRenewableSubscription
            var renewal = Renewal(originalTransactionID: "1")
            (renewal.willRenew, renewal.expirationIntent) = (true, .billingError)
            return UpstreamAnswer(
                environment: .sandbox, bundleID: "com.example.f", transactions: [transaction], renewals: [renewal],
                latestReceipt: nil, body: Array(#"{"status":0}"#.utf8), revision: "1_2")
        }
    }
#endif
