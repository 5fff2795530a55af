// SPDX-License-Identifier: Apache-2.0

import Gateway
import HTTPTypes
import Testing

@testable import API
@testable import HTTPServer

@Suite("Problems of the domain")
struct DomainProblemTests {
    @Test(
        arguments: [
            ("com.example.shop", "the app com.example.shop"), (nil, "evidence that names no app"),
            (String(repeating: "a", count: 155), "the app \(String(repeating: "a", count: 155))"),
            (String(repeating: "a", count: 156), "this app"), ("", "this app"), ("a b", "this app"),
            ("<b>", "this app"), ("a\nb", "this app"), ("com.exämple", "this app"),
        ] as [(String?, String)])
    func `a client that may not use an app learns which app it asked for, if the name is plain`(
        bundleID: String?, named: String
    ) {
        let problem = GatewayError.appNotPermitted(bundleID).problem
        #expect(problem.status == .forbidden && problem.code == .appNotPermitted)
        #expect(problem.detail == "This client is not permitted to use \(named): apps in the clients file.")
    }
}
