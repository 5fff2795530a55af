// SPDX-License-Identifier: Apache-2.0

#if DEBUG || RECEIPT_FUZZING
    extension FuzzSeeds {
        /// Bodies of plugins in apps. The first character chooses the protocol.
        static var plugins: [(String, [UInt8])] {
            (validations.map { "0" + $0 } + purchaseVerifications.map { "1" + $0 }).enumerated().map { number, text in
                ("plugin-\(number)", FuzzTarget.pluginRequest.input(Array(text.utf8)))
            }
        }

        private static let validations = [
            #"{"id":"com.example.f","type":"application","transaction":{"type":"ios-appstore","id":"com.example.f","#
                + #""appStoreReceipt":"QUJDRA=="},"offers":[{"prices":[1]}],"device":{"plugin":"13.12"}}"#,
            #"{"id":"p","type":"paid subscription","transaction":{"appStoreReceipt":"eyAQID=","type":"ios-appstore"}}"#,
            #"{"transaction":{"type":"apple-sk2","jwsRepresentation":" eyJ9.e30.AQ\n"}}"#,
            #"{"id":"","type":"application","transaction":{"type":"ios-appstore","appStoreReceipt":"eyJh.e30.AQ"}}"#,
            #"{"transaction":{"type":"ios-appstore","appStoreReceipt":"QU\u004aD","appStoreReceipt":"e0FB"}}"#,
            #"{"id":null,"transaction":{"type":"apple-sk2","appStoreReceipt":null}}"#, #"{"transaction":{}}"#,
            #"{"\u0069d":"é","type":"application","transaction":{"type":"android-playstore"}}"#, "{}",
            #"{"additionalData":{"a":[[[[[[[[[[[[[[[[[0]]]]]]]]]]]]]]]]]},"transaction":[]}"#,
        ]

        private static let purchaseVerifications = [
            #"{"store":"apple","jws":"eyJ9.e30.AQ","expectedProductId":"pro.monthly"}"#,
            #"{"store":"apple","jws":"\teyJ9.e30.AQ","expectedProductId":null,"includeClientPayload":true}"#,
            #"{"store":"google","jws":""}"#, #"{"store":"apple","store":"horizon","jws":"a"}"#, #"{"store":1}"#,
        ]

        /// Bodies of requests for signatures. The first character chooses the kind, in the order of its cases.
        static var signatures: [(String, [UInt8])] {
            let kinds = [promotionalOffers, eligibilities, advancedCommerce, originalOffers]
            let texts = zip("DEFG", kinds).flatMap { kind, bodies in bodies.map { "\(kind)" + $0 } }
            return texts.enumerated().map { number, text in
                ("signature-\(number)", FuzzTarget.signatureRequest.input(Array(text.utf8)))
            }
        }

        private static let promotionalOffers = [
            #"{"product_id":"p","offer_identifier":"comeback","transaction_id":"2000000123456789"}"#,
            #"{"product_id":"p\u0022,\u005c","offer_identifier":"a/b"}"#,
            #"{"product_id":"p","offer_identifier":"o","transaction_id":null}"#,
            #"{"product_id":"p\u2063q","offer_identifier":"o"}"#, #"{"product_id":"","offer_identifier":"o","x":1}"#,
        ]

        private static let eligibilities = [
            #"{"product_id":"p","allow_introductory_offer":true,"transaction_id":"70001"}"#,
            #"{"product_id":"p","allow_introductory_offer":"true","transaction_id":"70001"}"#,
            #"{"product_id":"p","allow_introductory_offer":false}"#,
        ]

        private static let advancedCommerce = [
            #"{"operation":"CREATE_SUBSCRIPTION","version":"1","requestInfo":{"requestReferenceId":"#
                + #""758883e8-151b-47b7-abd0-60c4d804c2f5"},"items":[{"SKU":"course-1"},{"currentSKU":"course-2"}]}"#,
            #" {"operation":"MODIFY_SUBSCRIPTION","version":"1","requestInfo":{"requestReferenceId":"#
                + #""758883E8-151B-47B7-ABD0-60C4D804C2F5"},"é":"\u00e9","periodChange":{"effective":"IMMEDIATELY"}}"#,
            #"{"operation":"CREATE_ONE_TIME_CHARGE","version":"1","requestInfo":{"requestReferenceId":"1"}}"#,
            #"{"operation":"CANCEL"}"#,
        ]

        private static let originalOffers = [
            #"{"product_id":"p","offer_identifier":"o","app_account_token":"758883E8-151b-47b7-abd0-60c4d804c2f5"}"#,
            #"{"product_id":"p","offer_identifier":"o","application_username":"user-1"}"#,
            #"{"product_id":"p","offer_identifier":"o","application_username":"User"}"#,
            #"{"product_id":"p","offer_identifier":"o"}"#,
        ]
    }
#endif
