// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TestSupport

@testable import LoadTest

/// The library of the Standard Webhooks project against the webhooks of a gateway.
@Suite(.enabled(if: StandardWebhooks.isInstalled, "PyPI's standardwebhooks is missing: .ci/deps test installs it"))
struct StandardWebhooksTests {
    @Test(.timeLimit(.patient))
    func `the library accepts every delivery, and refuses what was changed on the way`() async throws {
        let count = 5
        try await EventStage.run(customers: count, [.init(name: "shop")]) { stage in
            try stage.fleet.notify("DID_RENEW", about: 0..<count)
            let written = try await EventTests.written(count, by: stage)
            try await stage.expect(written, at: "shop")
            let deliveries = try stage.endpoint("shop").deliveries.map { delivery in
                ["headers": delivery.headers, "body": String(decoding: delivery.body, as: UTF8.self)] as [String: Any]
            }
            let given: [String: Any] = ["secret": try stage.secret(of: "shop"), "deliveries": deliveries]
            let outcome = try await StandardWebhooks.verify(Data(json: given))
            for line in outcome.output.split(separator: "\n") where line.hasPrefix("not ok ") {
                Issue.record("\(line)")
            }
            #expect(outcome.status == 0, "\(outcome.output)\n\(outcome.errors)")
            #expect(outcome.output.hasSuffix("\(5 * deliveries.count) passed, 0 failed\n") && deliveries.count >= count)
        }
    }
}

enum StandardWebhooks {
    /// The virtual environment that `.ci/deps test` makes, whichever folder the tests are built in.
    private static let python = repositoryRoot.appending(path: ".build/standard-webhooks/bin/python").path

    static var isInstalled: Bool {
        FileManager.default.isExecutableFile(atPath: python)
            && FileManager.default.fileExists(
                atPath: repositoryRoot.path + "/.build/standard-webhooks/requirements.sha256")
    }

    static func verify(_ deliveries: Data) async throws -> Program.Outcome {
        let folder = try ScratchFolder()
        let file = try folder.write(String(decoding: deliveries, as: UTF8.self), to: "deliveries.json")
        let script = repositoryRoot.appending(path: "Tests/StandardWebhooks/verify.py").path
        return try await Program.named.run([python, "-B", script, file])
    }
}
