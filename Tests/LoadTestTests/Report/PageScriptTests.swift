// SPDX-License-Identifier: Apache-2.0

import Foundation
import RealServers
import Testing
import TestSupport

@testable import LoadTest

/// The functions of the page's script, in a real browser.
@Suite(.enabled(if: Browser.isInstalled, "chromium-headless-shell is missing: .ci/deps test installs it"))
struct PageScriptTests {
    /// Expects the values of expressions, as JSON.
    private static func expect(_ values: KeyValuePairs<String, String>) async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "page-\(UUID().uuidString).html")
        defer { try? FileManager.default.removeItem(at: file) }
        try SampleRun(seconds: 1).result().page.html().write(to: file, atomically: true, encoding: .utf8)
        let tab = try await BrowserTab("file://\(file.path)")
        try await eventually("the page is drawn") {
            try await tab.value(of: "document.getElementById('raw') !== null") == "true"
        }
        for (expression, expected) in values {
            #expect(try await tab.value(of: "JSON.stringify(\(expression))") == expected, "\(expression)")
        }
    }

    @Test func `numbers have the digits that matter`() async throws {
        try await Self.expect([
            "[0.01234, 1.234, 12.34, 123.4, 12345.6, 0, -2.5].map(significant)":
                #"["0.0123","1.23","12.3","123","12,346","0","-2.50"]"#,
            "[0, 0.3, 0.1 + 0.2, 5, 1500, 10000, 12500, 2e6, 3e9].map(compact)":
                #"["0","0.3","0.3","5","1,500","10k","12.5k","2M","3G"]"#,
            "[0, 0.00001, 0.0005, 0.123, 1].map(percent)": #"["0.0 %","< 0.01 %","0.05 %","12.3 %","100.0 %"]"#,
            "[1234567.891, -1234.5, -0.001].map((number) => fixed(number, 2))":
                #"["1,234,567.89","-1,234.50","0.00"]"#,
            "[999, 12300000].map(bytes)": #"["999 bytes","12.3 MB"]"#,
            #"["a-b", "it's", ""].map(shellWord)"#: #"["a-b","'it'\\''s'","''"]"#,
        ])
    }

    @Test func `ticks are round, and axes end with a round number`() async throws {
        try await Self.expect([
            "[0.1, 0.11, 0.3, 0.51, 7, 49, 0.3 / 3].map((value) => plain(rounded(value, true)))":
                #"["0.1","0.2","0.5","1","10","50","0.1"]"#,
            "[0.1, 0.11, 0.3, 0.51, 7, 49].map((value) => plain(rounded(value, false)))":
                #"["0.1","0.1","0.2","0.5","5","20"]"#,
            "[[10, 2100], [], [0, 0]].map((values) => amounts(values, '').upper)": "[3000,1,1]",
            "[[0.12], [-3, 5], [-0.3], [48e6]].map((values) => amounts(values, '').ticks(5).map(([, label]) => label))":
                #"[["0","0.05","0.10","0.15"],["-4","-2","0","2","4","6"],["-0.3","-0.2","-0.1","0"],"#
                + #"["0","20M","40M","60M"]]"#,
            "[[1, 10, 5], [0.5, 200, 5], [1, 1e6, 4]].map((ends) => logarithmicTicks(...ends).map(([, label]) => label))":
                #"[["1","2","5","10"],["1","10","100"],["1","100","10k","1M"]]"#,
            "[30, 300, 8000].map((end) => timeAxis(end).ticks(3).map(([, label]) => label))":
                #"[["0 s","10 s","20 s","30 s"],["0:00","2:00","4:00"],["0:00","1:00","2:00"]]"#,
            "timeAxis(9e15).ticks(12).length <= 13": "true",
            "[[1, 2, 7], [0.3, 0, 400], [0], []].map(latencies).map(({ lower, upper }) => [lower, upper])":
                "[[0,8],[0.2,500],[0,1],[0,1]]",
            "percentiles(1000).ticks(9).map(([, label]) => label)": #"["0","50","90","99"]"#,
            "[90, 99, 99.9, 99.99].map((value) => pixels(10 * percentiles(1e5).fraction(value)))": "[2,4,6,8]",
            "[-1, 0, 5, 1e9, Infinity].map(amounts([10], '').fraction)": "[0,0,0.5,1,1]",
        ])
    }

    @Test func `time is cut in steps, with gaps where nothing was measured`() async throws {
        try await Self.expect([
            "[600, 3600, 86400].map((seconds) => stepWidth([{ second: seconds - 1 }], 600))": "[1,10,300]",
            """
            timeSteps(Array.from({ length: 25 }, (_, second) => ({ second, answered: 6, p99_ms: second })), 10)
            .map((step) => [step.start, step.end, average(({ answered }) => answered)(step), worst('p99_ms')(step)])
            """: "[[0,10,6,9],[10,20,6,19],[20,25,6,24]]",
            """
            pieces(timeSteps([[0, 1], [1, 2], [2, null], [3, 4]].map(([second, p99_ms]) => ({ second, p99_ms })), 1),
            false, worst('p99_ms'))
            """: "[[[0.5,1],[1.5,2]],[[3.5,4]]]",
            "pieces(timeSteps([{ second: 0, n: 1 }, { second: 5, n: 2 }], 1), true, worst('n')).length": "2",
            """
            seriesOf(['near', 'shed'].map((hue) => ({ hue, style: 'area', figure: worst(hue) })),
            [timeSteps([{ second: 0, near: 2, shed: 1 }, { second: 2, near: 0, shed: 4 }], 1)], true)
            .map(({ pieces }) => pieces[0].map(([, height]) => height))
            """: "[[2,2,0,0,0,0,0,0,0,0,0,0],[3,3,0,0,4,4,0,0,0,0,2,2]]",
            "counterRates([[0, 100], [1, 150], [3, 250], [4, 30]])": "[[0.5,50],[2,50],[3.5,30]]",
            "[counterRates([]), counterRates([[0, 1]])]": "[[],[]]",
        ])
    }

    @Test func `names of marks do not cover each other, and outcomes have hues of their own`() async throws {
        try await Self.expect([
            "markLabels([[100, 'one'], [105, 'two'], [300, 'three']], 50, 500, 12, 'ms').placed.map(({ row }) => row)":
                "[0,1,0]",
            "markLabels([[490, 'kill redis']], 50, 500, 12, 'ms').placed":
                #"[{"text":"kill redis","row":0,"isBefore":true,"x":486}]"#,
            "markLabels(Array(5).fill([200, 'a very long name indeed']), 50, 500, 12, 'ms').placed.map(({ text }) => text)":
                #"["a very long…","a very long…","a very long…"]"#,
            "markLabels([], 50, 500, 12, 'ms').rows": "0",
            "outcomesOf(['error', 'zeta', 'hit_near', 'shed', 'alpha', 'local']).map(([name]) => name)":
                #"["hit_near","local","shed","error","alpha","zeta"]"#,
            "new Set(outcomesOf(['error', 'zeta', 'hit_near', 'alpha']).map(([, , hue]) => hue)).size": "4",
            "outcomesOf(['zeta'])[0][1]": #""zeta""#,
        ])
    }
}
