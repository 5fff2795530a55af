// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Testing

@testable import Clients
@testable import HTTPServer
@testable import Telemetry

struct LabelTests {
    @Test func `unexpected methods and codes share one label`() {
        #expect(MethodLabel(.post).rawValue == "POST")
        #expect(MethodLabel(.patch) == .other && MethodLabel(HTTPRequest.Method("BREW")) == .other)
        #expect(CodeLabel(.ok).rawValue == "200")
        #expect(CodeLabel(HTTPResponse.Status(code: 418)).rawValue == "other")
    }

    @Test(arguments: EdgeRefusal.allCases)
    func `every refusal has a code`(refusal: EdgeRefusal) {
        #expect(CodeLabel(Problem(refusal, bodyLimit: .kibibytes(1)).status).rawValue != "other")
    }

    @Test(arguments: [
        Problem.unauthenticated, .notFound, .methodNotAllowed(allowed: ""), .unsupportedMediaType, .notReady,
    ])
    func `every problem has a code`(problem: Problem) {
        #expect(CodeLabel(problem.status).rawValue != "other")
    }

    @Test(arguments: [
        (200, "2xx"), (204, "2xx"), (404, "4xx"), (503, "5xx"), (218, "5xx"), (302, "5xx"),
    ])
    func `the first digit is the code's class`(code: Int, codeClass: String) {
        #expect(DurationLabels.CodeClass(CodeLabel(HTTPResponse.Status(code: code))).rawValue == codeClass)
    }
}

struct ProcessStatisticsTests {
    private static let numbers = (4...52).map(String.init).joined(separator: " ")

    @Test(arguments: ["receipt-gateway", "", "a b) R 1 2 (c", "))) ((("])
    func `the start time is found after any process name`(name: String) {
        #expect(ProcessStatistics.startTicks("17 (\(name)) R \(Self.numbers)\n") == 22)
    }

    @Test(arguments: ["", "17", "17 (a) R", "17 (a) R 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21"])
    func `a truncated line gives nil`(stat: String) {
        #expect(ProcessStatistics.startTicks(stat) == nil)
    }
}
