// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import TestSupport

/// A page that stays open in a real browser, to be inspected while it changes.
///
/// The browser reads commands from descriptor 3 and answers on 4: here a named pipe and a file, so that a browser that
/// ends or hangs blocks no test.
public final class BrowserTab {
    private typealias Message = [String: Any]

    private let process: ChildProcess
    private let folder: URL
    private let commands: FileHandle
    private let replies: FileHandle
    private var unread = Data()
    private var lastCommand = 0
    private var session: String?
    /// The browser's complaints so far: errors of scripts, refused scripts and styles, failed requests.
    public private(set) var complaints: [String] = []

    /// Opens a page.
    public init(_ address: String) async throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "browser-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let pipe = folder.appending(path: "commands"), file = folder.appending(path: "replies")
        // SAFETY: the system copies the path.
        guard unsafe mkfifo(pipe.path, 0o600) == 0 else { throw POSIXError(.EIO) }
        try Data().write(to: file)
        // Opened for reading and writing, so that neither end waits for the other.
        commands = try FileHandle(forUpdating: pipe)
        replies = try FileHandle(forReadingFrom: file)
        let program = [
            Browser.program.path, "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
            "--user-data-dir=\(folder.path)/profile", "--remote-debugging-pipe",
        ]
        process = try ChildProcess(
            URL(filePath: "/bin/sh"), ["-c", #"exec "$@" 3<commands 4>>replies"#, "sh"] + program, folder: folder,
            output: folder.appending(path: "output"))
        try await open(address)
    }

    deinit {
        process.signal(SIGKILL)
        process.wait()
        try? commands.close()
        try? replies.close()
        try? FileManager.default.removeItem(at: folder)
    }

    private func open(_ address: String) async throws {
        let target = try await perform("Target.createTarget", ["url": "about:blank"])["targetId"] ?? ""
        session =
            try await perform("Target.attachToTarget", ["targetId": target, "flatten": true])["sessionId"] as? String
        for domain in ["Page", "Runtime", "Log"] { _ = try await perform("\(domain).enable") }
        _ = try await perform("Page.navigate", ["url": address])
    }

    /// Returns the value of a JavaScript expression in the page, as text.
    public func value(of expression: String) async throws -> String {
        let outcome = try await perform(
            "Runtime.evaluate", ["expression": "String(\(expression))", "awaitPromise": true, "returnByValue": true])
        guard let value = (outcome["result"] as? Message)?["value"] as? String else {
            throw BrowserError(output: "\(expression): \(outcome)")
        }
        return value
    }
}

// MARK: - Commands

extension BrowserTab {
    /// Sends a command (Chrome DevTools Protocol) and waits for its reply.
    private func perform(_ method: String, _ parameters: Message = [:]) async throws -> Message {
        lastCommand += 1
        var command: Message = ["id": lastCommand, "method": method, "params": parameters]
        command["sessionId"] = session
        try commands.write(contentsOf: JSONSerialization.data(withJSONObject: command, options: .sortedKeys) + [0])
        let end = ContinuousClock.now + Patience.forEvent
        while ContinuousClock.now < end, process.isRunning {
            guard let message = try nextMessage() else {
                // The interval of a poll: the pipe of replies does not block.
                try await Task.sleep(for: .milliseconds(10))
                continue
            }
            if message["id"] as? Int == lastCommand { return message["result"] as? Message ?? message }
            note(message)
        }
        throw BrowserError(output: "no reply to \(method)")
    }

    /// Returns the next unread message, if it is complete; messages end with 0.
    private func nextMessage() throws -> Message? {
        if let more = try replies.readToEnd() { unread += more }
        guard let end = unread.firstIndex(of: 0) else { return nil }
        let message = unread[..<end]
        unread = Data(unread[(end + 1)...])
        return try JSONSerialization.jsonObject(with: message) as? Message
    }

    private func note(_ event: Message) {
        let details = event["params"] as? Message ?? [:]
        switch event["method"] as? String {
        case "Log.entryAdded", "Runtime.exceptionThrown", "Runtime.consoleAPICalled": complaints.append("\(details)")
        default: break
        }
    }
}
