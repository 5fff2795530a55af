// SPDX-License-Identifier: Apache-2.0

extension ScriptedServer.Step {
    /// A complete answer that keeps the connection open.
    static func answer(_ status: Int = 200, _ body: String = "", headers: [String] = []) -> Self {
        let lines = ["HTTP/1.1 \(status) Reason", "Content-Length: \(body.utf8.count)"] + headers
        return .send(lines.joined(separator: "\r\n") + "\r\n\r\n" + body)
    }
}
