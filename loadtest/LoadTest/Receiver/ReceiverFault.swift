// SPDX-License-Identifier: Apache-2.0

internal import AppleSimulator

enum ReceiverFault: Hashable, Sendable {
    case none
    /// Connections are refused, and open connections are closed.
    case down
    /// Answers come so much later. The event counts when its answer is sent.
    case slow(Duration)
    /// A status other than 2xx, with `Retry-After` if the seconds are given.
    case status(Int, retryAfter: Int? = nil)
    /// 307 with another path of the same server.
    case redirect
    /// 200 whose connection ends after a tenth of the body.
    case short
    /// 200 whose body is longer than `Content-Length`.
    case long
    /// 200 with a body that does not end.
    case endless

    /// 410: the endpoint wants nothing more.
    static let gone = ReceiverFault.status(410)

    /// True if the answer ends elsewhere than it says. The endpoint has taken the event.
    var breaksFraming: Bool { [.short, .long, .endless].contains(self) }

    var takesEvent: Bool {
        switch self {
        case .none, .slow, .short, .long, .endless: true
        case .down, .status, .redirect: false
        }
    }

    private enum Limits {
        static let slowSeconds = 0.001...600.0
        static let retryAfterSeconds = 0...86_400
        static let status = 300...599
    }

    private static let words: KeyValuePairs<String, ReceiverFault> = [
        "none": .none, "down": .down, "gone": .gone, "redirect": .redirect, "short": .short, "long": .long,
        "endless": .endless,
    ]

    /// Reads `none`, `down`, `gone`, `redirect`, `short`, `long`, `endless`, `{slow: SECONDS}` or
    /// `{status: 503, retry_after: SECONDS}`.
    init(_ value: YAMLValue) throws(ScenarioError) {
        if let word = value.scalar {
            guard let fault = Self.words.first(where: { $0.key == word })?.value else {
                throw value.wrong(needed: Self.words.map(\.key).joined(separator: ", "))
            }
            self = fault
            return
        }
        let fields = try YAMLFields(value, known: ["slow", "status", "retry_after"])
        if let slow = fields["slow"] {
            self = .slow(.seconds(try slow.number(in: Limits.slowSeconds)))
        } else {
            let status = try fields.required("status").integer(in: Limits.status)
            self = .status(status, retryAfter: try fields["retry_after"]?.integer(in: Limits.retryAfterSeconds))
        }
    }
}

/// The body of `PUT /control`: `{endpoint: NAME, fault: FAULT, requests: COUNT}`, in JSON or YAML.
struct ReceiverControl: Hashable, Sendable {
    let endpoint: String
    let fault: ReceiverFault
    /// The number of requests with the fault; nil for all until the next change.
    let requests: Int?

    private enum Limits {
        static let bodyBytes = 1 << 16
        static let requests = 1...1_000_000_000
    }

    init(_ text: String) throws(ScenarioError) {
        guard let root = try YAMLValue.reading(text, maximumBytes: Limits.bodyBytes, as: "control") else {
            throw ScenarioError(line: nil, fault: .missing("endpoint"))
        }
        let fields = try YAMLFields(root, known: ["endpoint", "fault", "requests"])
        endpoint = try fields.required("endpoint").text()
        fault = try ReceiverFault(fields.required("fault"))
        requests = try fields["requests"]?.integer(in: Limits.requests)
        if requests != nil, fault == .down {
            throw ScenarioError(line: root.line, fault: .contradiction("down", "requests"))
        }
    }
}
