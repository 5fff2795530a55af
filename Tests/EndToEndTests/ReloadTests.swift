// SPDX-License-Identifier: Apache-2.0

import AppleSimulator
import Foundation
import Synchronization
import Testing
import TestSupport

/// New keys, secrets and limits for the real binary while it serves.
@Suite(.timeLimit(.patient)) struct ReloadTests {
    // MARK: - Keys

    @Test func `a key is replaced under load, and other clients are not affected`() async throws {
        let steady = try await APIKey(), old = try await APIKey(), new = try await APIKey()
        let stage = try Stage(clients: [("steady", [steady]), ("shop", [old])])
        let gateway = try await stage.gateway()
        let tally = Tally()
        @Sendable func press(_ key: String, _ accepted: Set<Int>) async throws {
            while !tally.isOver { tally.add(try await gateway.verify("AQID", key: key).status, accepted) }
        }
        try await withThrowingTaskGroup { group in
            for _ in 0..<3 { group.addTask { try await press(steady.text, [200]) } }
            // The old key is valid until the reload, whose exact time is unknown.
            group.addTask { try await press(old.text, [200, 401]) }
            group.addTask {
                defer { tally.end() }
                #expect(try await gateway.verify("AQID", key: new.text).status == 401)
                try stage.write(clients: [("steady", [steady]), ("shop", [old, new])])
                gateway.hangUp()
                try await gateway.expect(successes: 1)
                #expect(try await gateway.verify("AQID", key: new.text).status == 200)
                #expect(try await gateway.verify("AQID", key: old.text).status == 200)
                try stage.write(clients: [("steady", [steady]), ("shop", [new])])
                gateway.hangUp()
                try await gateway.expect(successes: 2)
                for _ in 0..<20 {
                    #expect(try await gateway.verify("AQID", key: old.text).status == 401)
                    #expect(try await gateway.verify("AQID", key: new.text).status == 200)
                }
            }
            try await group.waitForAll()
        }
        #expect(tally.wrong == [] && tally.count > 50)
        #expect(await gateway.stop() == 0)
    }

    @Test func `a request in flight is answered, although its key is removed meanwhile`() async throws {
        let old = try await APIKey(), new = try await APIKey()
        let stage = try Stage(clients: [("shop", [old])])
        try await withStage("faults: [{latency: 5}]", stage.settings) { apple in
            async let answer = apple.gateway.verify(Sample.receipt(0), ["mode": "apple"], key: old.text)
            try await eventually("Apple is asked") { apple.apple.statsDetails.inFlight == 1 }
            try stage.write(clients: [("shop", [new])])
            apple.gateway.hangUp()
            try await apple.gateway.expect(successes: 1)
            #expect(try await apple.gateway.verify(Sample.receipt(0), key: old.text).status == 401)
            #expect(try await Verdict(answer.json).isApples)
        }
    }

    // MARK: - Files

    @Test func `a changed file is read without a signal, also through Kubernetes' links`() async throws {
        let first = try await APIKey(), second = try await APIKey(), third = try await APIKey()
        let stage = try Stage(clients: [("shop", [first])], isMounted: true)
        let gateway = try await stage.gateway()
        for (key, old) in [(second, first), (third, second)] {
            try stage.write(clients: [("shop", [key])])
            try await eventually("the new key is taken") {
                try await gateway.verify("AQID", key: key.text).status == 200
            }
            #expect(try await gateway.verify("AQID", key: old.text).status == 401)
        }
        let scrape = try await Scrape(gateway)
        #expect(scrape[#"configuration_reloads_total{result="success"}"#] == 2)
        #expect(scrape[#"configuration_reloads_total{result="refused"}"#] == 0)
    }

    @Test func `an invalid or missing file is refused with all its faults; the previous one stays in force`()
        async throws
    {
        let key = try await APIKey(), next = try await APIKey()
        let stage = try Stage(clients: [("shop", [key])])
        let gateway = try await stage.gateway()
        try stage.folder.replace("clients.yaml", with: "clients:\n- {name: a, keys: []}\n- {name: b, colour: red}\n")
        try await gateway.expect(refusals: 1)
        #expect(try await Scrape(gateway)["configuration_last_reload_successful"] == 0)
        #expect(try await gateway.verify("AQID", key: key.text).status == 200)
        func refusal() -> String? { gateway.transcript.lines.first { $0.contains("Configuration rejected") } }
        try await eventually("it is logged") { refusal() != nil }
        let line = try #require(refusal())
        let event = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        #expect(event["level"] as? String == "error")
        #expect((event["problems"] as? [String])?.count == 4, "\(line)")
        try FileManager.default.removeItem(at: stage.folder.url.appending(path: "clients.yaml"))
        try await gateway.expect(refusals: 2)
        #expect(try await gateway.verify("AQID", key: key.text).status == 200)
        try stage.write(clients: [("shop", [next])])
        try await gateway.expect(successes: 1)
        #expect(try await Scrape(gateway)["configuration_last_reload_successful"] == 1)
        #expect(try await gateway.verify("AQID", key: next.text).status == 200)
    }

    @Test func `two signals in a row, without a change`() async throws {
        let key = try await APIKey()
        let stage = try Stage(clients: [("shop", [key])])
        let gateway = try await stage.gateway()
        // The system may merge two pending signals.
        for _ in 0..<2 { gateway.hangUp() }
        try await eventually("a reload") {
            try await Scrape(gateway)[#"configuration_reloads_total{result="unchanged"}"#] ?? 0 >= 1
        }
        #expect(try await gateway.verify("AQID", key: key.text).status == 200)
        #expect(await gateway.stop() == 0)
    }

    // MARK: - Secrets and limits

    @Test func `a shared secret is replaced, and earlier answers are not reused`() async throws {
        let key = try await APIKey()
        let stage = try Stage(clients: [("shop", [key])])
        try stage.folder.replace("secret", with: "0000000000000000")
        var settings = stage.settings
        settings["GATEWAY_APPLE_SHARED_SECRET"] = ""
        settings["GATEWAY_APPLE_SHARED_SECRET_FILE"] = stage.folder.url.appending(path: "secret").path
        try await withStage("shared_secret: \(Sample.secret)", settings) { apple in
            func ask() async throws -> Verdict {
                try await Verdict(apple.gateway.verify(Sample.receipt(0), key: key.text).json)
            }
            #expect(try await ask().isLabelled("shared_secret_rejected"))
            try stage.folder.replace("secret", with: Sample.secret)
            apple.gateway.hangUp()
            try await apple.gateway.expect(successes: 1)
            #expect(try await ask().isApples)
        }
    }

    @Test func `the answer of an app without a secret expires when the app gets one`() async throws {
        let key = try await APIKey()
        let stage = try Stage(clients: [("shop", [key])])
        try await withStage(
            "shared_secret: \(Sample.secret)", stage.settings.merging(["GATEWAY_APPLE_SHARED_SECRET": ""]) { $1 }
        ) { apple in
            func ask() async throws -> Verdict {
                try await Verdict(apple.gateway.verify(Sample.receipt(0), key: key.text).json)
            }
            #expect(try await ask().source == "local")
            #expect(try await ask().cache == "near")
            let apps = "apps:\n- {bundle_id: \(Sample.bundleID), shared_secret: \(Sample.secret)}\n"
            try stage.write(clients: [("shop", [key])], and: apps)
            apple.gateway.hangUp()
            try await apple.gateway.expect(successes: 1)
            #expect(try await ask().isApples)
        }
    }

    @Test func `limits change, and unchanged ones keep their tokens`() async throws {
        let key = try await APIKey(), other = try await APIKey()
        func limit(_ quota: Int) -> String { "    limits: [{name: hour, quota: \(quota), window: 3600s}]\n" }
        let stage = try Stage(clients: [("shop", [key])], limits: limit(3))
        let gateway = try await stage.gateway()
        func admitted() async throws -> Int {
            var count = 0
            while try await gateway.verify("AQID", key: key.text).status == 200 { count += 1 }
            return count
        }
        #expect(try await admitted() == 3)
        try stage.write(clients: [("shop", [key]), ("other", [other])], limits: limit(3))
        gateway.hangUp()
        try await gateway.expect(successes: 1)
        #expect(try await admitted() == 0)
        // Another limit is another bucket, full at first; the earlier one is remembered.
        for (number, (quota, expected)) in [(5, 5), (3, 0), (5, 0)].enumerated() {
            try stage.write(clients: [("shop", [key])], limits: limit(quota))
            gateway.hangUp()
            try await gateway.expect(successes: Double(number + 2))
            #expect(try await admitted() == expected)
        }
    }

    @Test func `a setting that needs a restart is logged`() async throws {
        let folder = try ScratchFolder()
        let file = try folder.write("gateway: {cache: {near: {size: 1MiB}}}", to: "gateway.yaml")
        let gateway = try await RunningGateway(configuredBy: file)
        try folder.replace("gateway.yaml", with: "gateway: {cache: {near: {size: 2MiB}}}")
        try await eventually("the setting is named") {
            gateway.transcript.lines.contains {
                $0.contains("after a restart") && $0.contains(#""settings":["gateway.cache.near.size"]"#)
            }
        }
    }

    // MARK: - Files and load

    /// The statuses that clients get until the load is over.
    private final class Tally: Sendable {
        private struct State {
            var count = 0
            var wrong: [Int] = []
            var isOver = false
        }

        private let state = Mutex(State())

        var count: Int { state.withLock { $0.count } }
        var wrong: [Int] { state.withLock { $0.wrong } }
        var isOver: Bool { state.withLock { $0.isOver } }

        func end() { state.withLock { $0.isOver = true } }

        func add(_ status: Int, _ accepted: Set<Int>) {
            state.withLock { state in
                state.count += 1
                if !accepted.contains(status) { state.wrong.append(status) }
            }
        }
    }

    private struct Stage {
        let folder: ScratchFolder
        private let isMounted: Bool

        init(clients: [(String, [APIKey])], limits: String = "", isMounted: Bool = false) throws {
            self.isMounted = isMounted
            folder = try ScratchFolder()
            try write(clients: clients, limits: limits)
        }

        var settings: [String: String] {
            APIKey.pepper.merging(["GATEWAY_CLIENTS_FILE": folder.url.appending(path: "clients.yaml").path]) { $1 }
        }

        func gateway() async throws -> RunningGateway { try await RunningGateway(settings) }

        /// - Parameter limits: those of each client.
        func write(clients: [(String, [APIKey])], limits: String = "", and more: String = "") throws {
            let list = clients.map { name, keys in
                "  - name: \(name)\n    apps: '*'\n\(limits)    keys:\n" + keys.map(\.lines).joined()
            }
            let text = "clients:\n" + list.joined() + more
            if isMounted {
                try folder.publish("clients.yaml", text)
            } else {
                try folder.replace("clients.yaml", with: text)
            }
        }
    }
}

extension RunningGateway {
    /// Waits until there were this many successful reloads.
    func expect(successes count: Double) async throws { try await expect("success", count) }

    /// Waits until there were this many refused reloads.
    func expect(refusals count: Double) async throws { try await expect("refused", count) }

    private func expect(_ result: String, _ count: Double) async throws {
        try await eventually("\(result) \(count)") {
            try await Scrape(self)[#"configuration_reloads_total{result="\#(result)"}"#] == count
        }
    }
}

extension ScratchFolder {
    /// Replaces a file in one step.
    func replace(_ name: String, with text: String) throws {
        try Data(text.utf8).write(to: url.appending(path: name), options: .atomic)
    }

    /// Replaces a file as Kubernetes does: it is a link into `..data`, which is a link to a folder, and another folder
    /// takes its place.
    fileprivate func publish(_ name: String, _ text: String) throws {
        let manager = FileManager.default
        let next = url.appending(path: "..\(UUID().uuidString)"), link = url.appending(path: "..data_tmp")
        try manager.createDirectory(at: next, withIntermediateDirectories: true)
        try Data(text.utf8).write(to: next.appending(path: name))
        try manager.createSymbolicLink(atPath: link.path, withDestinationPath: next.lastPathComponent)
        let status = unsafe rename(link.path, url.appending(path: "..data").path)
        #expect(status == 0)
        let file = url.appending(path: name).path
        if (try? manager.destinationOfSymbolicLink(atPath: file)) == nil {
            try manager.createSymbolicLink(atPath: file, withDestinationPath: "..data/\(name)")
        }
    }
}
