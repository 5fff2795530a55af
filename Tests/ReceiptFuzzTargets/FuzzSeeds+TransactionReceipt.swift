// SPDX-License-Identifier: Apache-2.0

#if DEBUG || RECEIPT_FUZZING
    @testable internal import ReceiptForge
    internal import Receipts

    extension FuzzSeeds {
        /// Whole transaction receipts, purchase information as if it were signed, and property lists.
        static var transactionReceipts: [(String, [UInt8])] {
            let pki = ForgedPKI(seed: 1)
            let contents = TransactionReceiptContents.faultSample
            let receipts = (2...4).map { version in
                ("transaction-receipt-\(version)", [0] + pki.sign(contents, version: version))
            }
            let forge = TransactionReceiptForge(pki: pki)
            let fields = TransactionReceiptFault.allCases.compactMap { fault -> (String, [UInt8])? in
                let info = purchaseInfo(in: forge.evidence(with: fault))
                guard let info, info != contents.purchaseInfo.encoded else { return nil }
                return ("purchase-info-" + fault.name, [1] + info)
            }
            let lists = propertyLists.enumerated().map { ("property-list-\($0)", [0] + Array($1.utf8)) }
            return (receipts + fields + lists).map { ($0, FuzzTarget.transactionReceipt.input($1)) }
        }

        /// Returns the decoded purchase information of a receipt; nil unless it has exactly one.
        private static func purchaseInfo(in receipt: [UInt8]) -> [UInt8]? {
            let parts = String(decoding: receipt, as: UTF8.self).split(separator: #""purchase-info" = ""#)
            guard parts.count == 2, let text = parts[1].split(separator: "\"").first else { return nil }
            return try? Base64.decode(String(text))
        }

        private static let propertyLists = [
            "{}", #"{ "a" = "b"; "a" = "c"; }"#, #"{"a"="\"\\\n\r\t\U00e9\Ud83d\Ude00é";}"#, #"{"a"="\Ud83d";}"#,
            #"{"a"="\x";}"#, "{\"a\"=\"\0\";}", "{\"signature\"=\"BAAA\";\"purchase-info\"=\"e30=\";} ",
            #"{"environment"="Sandbox";"purchase-info"="QUJDRB==";"signature"="*";}"#,
        ]
    }
#endif
