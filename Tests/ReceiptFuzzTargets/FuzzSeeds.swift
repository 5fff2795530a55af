// SPDX-License-Identifier: Apache-2.0

#if DEBUG || RECEIPT_FUZZING
    @testable internal import ReceiptForge

    /// Initial inputs from the forge, small enough for the length limit of the corpus.
    public enum FuzzSeeds {
        private static let pki = ForgedPKI(seed: 1)
        private static let xcode = XcodePKI(seed: 1)

        /// The names and inputs.
        public static var all: [(name: String, input: [UInt8])] {
            texts + dates + containers + payloads + certificates + changes + transactionReceipts
                + signedData + gateway + serverAPI + plugins + signatures
        }

        private static var texts: [(String, [UInt8])] {
            ["QUJD", "QUI=", "QQ==", "QUJDRA==", "QUJD\r\nREVG", " Q U I = "].enumerated().map { number, text in
                ("base64-\(number)", FuzzTarget.base64.input(Array(text.utf8)))
            }
        }

        private static var dates: [(String, [UInt8])] {
            ["2024-02-29T12:30:15Z", "1999-12-31T23:59:59Z", "2020-07-22T18:33:15+0100", "2020-01-01T00:00:00-2359"]
                .enumerated().map { number, text in ("date-\(number)", FuzzTarget.date.input(Array(text.utf8))) }
        }

        /// Containers with one certificate or none; their form does not depend on the certificates.
        private static var containers: [(String, [UInt8])] {
            var container = pki.container(signing: smallContents.payload)
            container.certificates = []
            var withLeaf = container
            withLeaf.certificates = [pki.leaf]
            var longContent = container
            longContent.encapsulatedContentInfo.eContent = .octetString(smallContents.payload).with(lengthForm: longer)
            let ber = xcode.signLikeXcode(smallContents)
            return [
                ("container-empty-set", FuzzTarget.container.input(container.encoded)),
                ("container-leaf", FuzzTarget.container.input(withLeaf.encoded)),
                (
                    "container-long-outside",
                    FuzzTarget.container.input(container.contentInfo.with(lengthForm: longer).encoded)
                ),
                ("container-long-content", FuzzTarget.container.input(longContent.encoded)),
                ("ber-xcode", FuzzTarget.ber.input(ber)),
                ("ber-small", FuzzTarget.ber.input([0x30, 0x80, 0x24, 0x80, 0x04, 0x01, 0xAA, 0, 0, 0, 0])),
                ("ber-definite", FuzzTarget.ber.input([0x30, 0x03, 0x02, 0x01, 0x05])),
            ]
        }

        /// One byte more than a seed's length needs. A reader that accepts it breaks the rule of one form (X.690
        /// §10.1), which the search then finds without luck.
        private static let longer = DERLengthForm.long(bytes: 3)

        private static var payloads: [(String, [UInt8])] {
            var filled = smallContents
            filled.expirationDate = filled.creationDate
            filled.preorderDate = filled.creationDate
            filled.unknownAttributes = [.text(9999, "later"), AttributeTemplate(2_147_483_647, value: [1])]
            var bare = smallContents
            bare.purchases = []
            return [
                ("fields-small", FuzzTarget.fields.input([0] + smallContents.payload)),
                ("fields-filled", FuzzTarget.fields.input([0] + filled.payload)),
                ("fields-bare", FuzzTarget.fields.input([0] + bare.payload)),
                ("fields-xcode", FuzzTarget.fields.input([1] + smallContents.xcodePayload)),
            ]
        }

        private static var certificates: [(String, [UInt8])] {
            let named = [("leaf", pki.leaf), ("intermediate", pki.intermediate), ("root", pki.root)]
            let elliptic = TransactionPKI(seed: 1).certificates
            let others = [("xcode", xcode.certificate), ("p256", elliptic[0]), ("p384", elliptic[1])]
            return (named + others).map { name, certificate in
                ("certificate-" + name, FuzzTarget.certificate.input(certificate.der))
            }
        }

        /// Each genuine receipt unchanged, and with one change of each kind.
        private static var changes: [(String, [UInt8])] {
            (0..<7).flatMap { receipt in
                (0..<6).map { operation in
                    (
                        "verifier-\(receipt)-\(operation)",
                        FuzzTarget.verifier.input([receipt, operation, 0x04, 0x10, 0x01])
                    )
                } + [("verifier-\(receipt)", FuzzTarget.verifier.input([receipt]))]
            }
        }

        /// Short texts, each genuine JWS unchanged and with one change of each kind, and payloads to be signed.
        private static var signedData: [(String, [UInt8])] {
            let header = String(
                decoding: Base64URLText.encode(Array(#"{"alg":"ES256","x5c":["MAA="]}"#.utf8)), as: UTF8.self)
            let texts = ["a.b.c", "\(header).e30.", "\(header).e30.AA", "....", "{}"].map { [0] + Array($0.utf8) }
            let changes: [[UInt8]] = (0..<5).flatMap { text in
                [[1, text]] + (0..<6).map { [1, text, $0, 0x04, 0x10, 0x01] }
            }
            let notification = NotificationContents().adding(#""summary":{"environment":"Sandbox"}"#).payload
            let payloads: [[UInt8]] = [
                TransactionContents().payload, TransactionContents.complete.payload, RenewalInfoContents().payload,
                RenewalInfoContents.complete.payload, AppTransactionContents().payload, NotificationContents().payload,
                notification, Array("{}".utf8), Array("[]".utf8),
            ]
            let xcode = [TransactionContents.xcode.payload, AppTransactionContents.xcode.payload]
            let inputs = texts + changes + payloads.map { [2] + $0 } + (payloads + xcode).map { [3] + $0 }
            return inputs.enumerated().map { ("jws-\($0)", FuzzTarget.jws.input($1)) }
        }

        private static var smallContents: ReceiptContents {
            let date = UTCDate(2024, 3, 1, 12, 30, 15)
            var contents = ReceiptContents(bundleID: "com.example.f", creationDate: date)
            var purchase = PurchaseContents(productID: "p", transactionID: "1", purchaseDate: date)
            purchase.expiresDate = date.advanced(byDays: 30)
            contents.purchases = [purchase]
            return contents
        }
    }
#endif
