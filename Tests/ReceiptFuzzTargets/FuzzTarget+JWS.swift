// SPDX-License-Identifier: Apache-2.0

#if DEBUG || RECEIPT_FUZZING
    internal import JSON
    internal import ReceiptForge
    internal import Receipts

    /// Genuine JWS and a verifier that trusts them.
    enum GenuineJWS {
        static let pki = TransactionPKI(seed: 1)
        static let xcode = XcodeTransactionPKI(seed: 1)

        static let texts: [[UInt8]] = [
            pki.jws(TransactionContents()), pki.jws(RenewalInfoContents()), pki.jws(AppTransactionContents()),
            pki.jws(JWSForge(pki: pki).notification()), xcode.jws(TransactionContents.xcode),
        ]

        static let now = Timestamp(millisecondsSince1970: 1_790_000_000_000)

        static let verifier: ReceiptVerifier = {
            var store = TrustStore.apple
            guard (try? store.add(pem: pki.root.pem, environments: [.production, .sandbox])) != nil,
                (try? store.add(pem: xcode.rootPEM, environments: [.xcode])) != nil
            else { preconditionFailure("the forge's roots are no trust anchors") }
            return ReceiptVerifier(trustStore: store)
        }()

        /// The signed texts. Nothing else may ever be genuine.
        static let identities: Set<Fingerprint> = Set(
            texts.map { text in
                guard let payload = try? verifier.verify(jws: text, at: now) else {
                    preconditionFailure("a JWS of the forge is not genuine")
                }
                return payload.jws.identity
            })
    }

    extension FuzzTarget {
        /// Checks signed data. The first byte chooses: a text as it stands, changes to a genuine one, or a payload that
        /// Apple's forged authority or Xcode's signs.
        static func checkJWS(_ input: [UInt8]) throws {
            let bytes = Array(input.dropFirst())
            switch (input.first ?? 0) % 4 {
            case 0: try checkText(bytes)
            case 1: try checkChangedText(bytes)
            case 2: try checkPayload(bytes, signed: GenuineJWS.pki.jws(bytes))
            default: try checkPayload(bytes, signed: GenuineJWS.xcode.jws(bytes))
            }
        }

        /// The first byte chooses a genuine JWS; each four bytes after it change its text.
        private static func checkChangedText(_ input: [UInt8]) throws {
            guard let choice = input.first else { return }
            var text = GenuineJWS.texts[Int(choice) % GenuineJWS.texts.count]
            for change in Change.list(in: Array(input.dropFirst())) { change.apply(to: &text) }
            try checkText(text)
        }

        private static func checkText(_ text: [UInt8]) throws {
            do {
                let payload = try GenuineJWS.verifier.verify(jws: text, at: GenuineJWS.now)
                try expect(GenuineJWS.identities.contains(payload.jws.identity), "genuine, but never signed")
            } catch let error as ReceiptError {
                try error.checkLocation(in: text)
            }
        }

        private static func checkPayload(_ payload: [UInt8], signed text: [UInt8]) throws {
            guard let read = try? GenuineJWS.verifier.verify(jws: text, at: GenuineJWS.now) else { return }
            try expect(read.jws.payload == payload, "another payload than was signed")
            // Claims without a meaning may nest deeper, and repeat names inside.
            guard let json = try? JSONValue(parsing: payload) else { return }
            try read.checkTexts(json)
            try read.checkDate(json)
            try read.checkKind(text)
        }
    }

    extension SignedPayload {
        var jws: VerifiedJWS {
            switch self {
            case .transaction(let read): read.jws
            case .renewalInfo(let read): read.jws
            case .appTransaction(let read): read.jws
            case .notification(let read): read.jws
            }
        }

        /// Compares the texts that decide about access with those of another reader.
        fileprivate func checkTexts(_ json: JSONValue) throws {
            let texts: [(name: String, value: String?)] =
                switch self {
                case .transaction(let read):
                    [
                        ("transactionId", read.transactionID), ("bundleId", read.bundleID),
                        ("originalTransactionId", read.originalTransactionID), ("productId", read.productID),
                        ("environment", read.environment?.rawValue), ("appAccountToken", read.appAccountToken),
                    ]
                case .renewalInfo(let read):
                    [
                        ("originalTransactionId", read.originalTransactionID), ("productId", read.productID),
                        ("environment", read.environment?.rawValue),
                    ]
                case .appTransaction(let read): [("bundleId", read.bundleID), ("receiptType", read.receiptType)]
                case .notification(let read):
                    [("notificationType", read.notificationType), ("notificationUUID", read.notificationUUID)]
                }
            for (name, value) in texts {
                try expect(json[name]?.string == value, "\(name) is not the signed one")
                try expect(value?.utf8.contains(0) != true, "\(name) holds a NUL")
            }
        }

        /// Checks that the date of signing is the signed one, and not in the future.
        fileprivate func checkDate(_ json: JSONValue) throws {
            let (name, date): (String, Timestamp) =
                switch self {
                case .transaction(let read): ("signedDate", read.signedDate)
                case .renewalInfo(let read): ("signedDate", read.signedDate)
                case .appTransaction(let read): ("receiptCreationDate", read.receiptCreationDate)
                case .notification(let read): ("signedDate", read.signedDate)
                }
            let latest = GenuineJWS.now.advanced(by: GenuineJWS.verifier.policy.clockSkew)
            try expect(date <= latest, "signed in the future")
            guard let integer = json[name]?.number?.integer else { return }
            try expect(date.millisecondsSince1970 == integer, "\(name) is not the signed one")
        }

        /// Checks that the function for this kind accepts the text too.
        fileprivate func checkKind(_ text: [UInt8]) throws {
            let (verifier, now) = (GenuineJWS.verifier, GenuineJWS.now)
            switch self {
            case .transaction: _ = try verifier.verifyTransaction(text, at: now)
            case .renewalInfo: _ = try verifier.verifyRenewalInfo(text, at: now)
            case .appTransaction: _ = try verifier.verifyAppTransaction(text, at: now)
            case .notification: _ = try verifier.verifyNotification(text, at: now)
            }
        }
    }
#endif
