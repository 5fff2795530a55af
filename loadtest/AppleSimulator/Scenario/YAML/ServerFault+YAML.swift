// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

internal import Yams

extension ServerFault {
    init(_ node: Node) throws(ScenarioError) {
        let choice = try YAMLChoice(node, of: "fault", known: Self.plain.keys.sorted() + Self.withValue)
        if let fault = Self.plain[choice.name] {
            try choice.nothing()
            self = fault
            return
        }
        let value = try choice.required()
        switch choice.name {
        case "http_status": self = .httpStatus(try value.integer(of: choice.name, in: 400...599))
        case "slow_body":
            self = .slowBody(bytesPerSecond: try value.integer(of: "slow_body", in: 1...1_000_000_000))
        case "throttled":
            // A time in the past is allowed, because servers send it.
            self = .throttled(
                retryAfter: .milliseconds(try value.integer(of: "throttled", in: -86_400_000...86_400_000)))
        case "compressed": self = .compressed(try value.word(of: "compressed", as: ContentCoding.self))
        case "latest_receipt":
            self = .latestReceipt(try value.word(of: "latest_receipt", as: LatestReceipt.self))
        case "tampered": self = .tampered(try value.word(of: "tampered", as: Tampering.self))
        default: self = .receiptStatus(try ReceiptStatus(value))
        }
    }

    private static let plain: [String: ServerFault] = [
        "none": .none, "html": .html, "empty": .empty, "truncated": .truncated, "reset_mid_body": .resetMidBody,
        "reset": .reset, "no_answer": .noAnswer, "tls": .tls, "wrong_environment": .wrongEnvironment,
    ]

    private static let withValue = [
        "compressed", "http_status", "latest_receipt", "receipt_status", "slow_body", "tampered", "throttled",
    ]
}

extension ServerFault.ReceiptStatus {
    /// Reads a number, or `{status: 21104, is-retryable: true, with_receipt: true}`.
    init(_ node: Node) throws(ScenarioError) {
        let statuses = 21000...21199
        if node.scalar != nil {
            status = try node.integer(of: "receipt_status", in: statuses)
            return
        }
        let spellings = ["is_retryable", "is-retryable"]
        let fields = try YAMLFields(node, of: "receipt_status", known: ["status", "with_receipt"] + spellings)
        status = try fields.required("status").integer(of: "status", in: statuses)
        hasReceipt = try fields.word("with_receipt", as: Truth.self) == .true
        let present = fields.present(of: spellings)
        guard present.count < 2 else {
            throw ScenarioError(line: fields.line, fault: .contradiction(present[0], present[1]))
        }
        retryable = try present.first.map { name throws(ScenarioError) in
            let literal = try fields.word(name, as: RetryableLiteral.self)
            return ServerFault.Retryable(name: name, literal: (literal ?? .false).rawValue)
        }
    }

    private enum Truth: String, CaseIterable {
        case `true`, `false`
    }

    private enum RetryableLiteral: String, CaseIterable {
        case `true`, `false`
        case one = "1"
        case zero = "0"
    }
}
