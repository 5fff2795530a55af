// SPDX-License-Identifier: Apache-2.0

internal import Clients
internal import Gateway
internal import HTTPServer

/// The conditions under which the answer to a request is deferred. A class, because most requests have no terms.
final class DeferralTerms: Sendable {
    /// True if the request accepts 202 by itself (`Prefer: respond-async`).
    let isPreferred: Bool
    /// The time to wait for Apple; nil for the usual time.
    let waitLimit: Duration?
    let key: IdempotencyKey?
    private let policy: DeferralPolicy

    /// Returns nil for a request that is never deferred, and joins no job. Not an initialiser, which would allocate before
    /// it decides.
    static func of(_ header: RequestHeader, _ client: Client) throws(Problem) -> DeferralTerms? {
        guard header.hasDeferralFields || client.deferral != .onRequest else { return nil }
        let preference = Preference(header.values(of: "Prefer"))
        let key = try IdempotencyKey(header.values(of: IdempotencyKey.fieldName))
        guard key != nil || preference.respondsAsync || client.deferral != .onRequest else { return nil }
        return DeferralTerms(preference, key, client.deferral)
    }

    private init(_ preference: Preference, _ key: IdempotencyKey?, _ policy: DeferralPolicy) {
        isPreferred = preference.respondsAsync
        waitLimit = isPreferred ? preference.wait : nil
        self.policy = isPreferred ? .degraded : policy
        self.key = key
    }

    /// Returns true for an answer that a later answer of Apple may replace.
    func defers(_ answer: Answer, to options: VerificationOptions) -> Bool {
        guard options.mode != .local else { return false }
        return switch answer.verdict {
        case .rejected: false
        case .undecided(.upstreamDidNotAnswer): policy != .onRequest && !answer.isFinal
        case .undecided: false
        case .genuine: policy == .degraded && !answer.isFinal
        }
    }
}

extension Answer {
    /// True if a repetition of the request would bring nothing better.
    ///
    /// A verdict is final if Apple's part in it is missing for a reason that does not pass by itself. Without a verdict a
    /// repair by the operator is worth the wait.
    var isFinal: Bool {
        switch verdict {
        case .rejected: true
        case .genuine: provenance.degradedReasons.allSatisfy { $0.facts.persistence != .passing }
        case .undecided:
            provenance.isDegraded && provenance.degradedReasons.allSatisfy { $0.facts.persistence == .permanent }
        }
    }
}

/// The name that a client gives to a request, from the header field `Idempotency-Key`, so that a repeated request does
/// not create another job.
struct IdempotencyKey: Hashable, Sendable {
    enum Limits {
        static let characters = 1...255
    }

    static let fieldName = "Idempotency-Key"

    let text: String

    /// - Parameter fields: the values of all lines; without a line the key is nil.
    init?(_ fields: [String]) throws(Problem) {
        guard let text = fields.first else { return nil }
        let isVisible = text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
        guard fields.count == 1, isVisible, Limits.characters.contains(text.utf8.count) else {
            throw .invalidIdempotencyKey
        }
        self.text = text
    }
}

/// The preferences of a client for a deferred answer, from the header field `Prefer`.
///
/// RFC 7240 §2:
/// ```
/// Prefer     = "Prefer" ":" 1#preference
/// preference = token [ BWS "=" BWS word ] *( OWS ";" [ OWS parameter ] )
/// parameter  = token [ BWS "=" BWS word ]
/// ```
/// Preferences that are unknown or malformed are ignored, as are parameters.
struct Preference: Hashable, Sendable {
    enum Limits {
        static let preferences = 32
        /// The longest wait, in seconds; a longer wait is shortened.
        static let wait = 60
    }

    /// `respond-async` (§4.1): the client accepts 202.
    private(set) var respondsAsync = false
    /// `wait` (§4.3): the time that the client waits for an answer.
    private(set) var wait: Duration?

    init(_ fields: [String]) {
        let preferences = fields.flatMap { $0[...].parts(between: ",") }.prefix(Limits.preferences)
        var seen: Set<String> = []
        for preference in preferences {
            let pair = preference.parts(between: ";").first?.parts(between: "=") ?? []
            let name = (pair.first ?? "").trimmingWhiteSpace().lowercased()
            // §2: only the first instance of a preference counts.
            guard pair.count <= 2, seen.insert(name).inserted else { continue }
            apply(name, pair.count == 2 ? pair[1].word : "")
        }
    }

    /// - Parameter value: empty for a preference without a value, which is equivalent (§2); nil for a malformed value.
    private mutating func apply(_ name: String, _ value: String?) {
        switch (name, value) {
        case ("respond-async", ""?): respondsAsync = true
        case ("wait", let text?):
            guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return }
            wait = .seconds(Int(text).map { min($0, Limits.wait) } ?? Limits.wait)
        default: break
        }
    }
}

extension Substring {
    /// Returns the parts between separators outside quoted strings (RFC 9110 §5.6.4).
    fileprivate func parts(between separator: Character) -> [Substring] {
        var (isQuoted, isEscaped) = (false, false)
        return split(omittingEmptySubsequences: false) { character in
            defer { isEscaped = isQuoted && !isEscaped && character == "\\" }
            if character == "\"", !isEscaped { isQuoted.toggle() }
            return character == separator && !isQuoted
        }
    }

    /// The value of a token or a quoted string; nil for a quoted string without its end.
    fileprivate var word: String? {
        let text = trimmingWhiteSpace()
        guard text.first == "\"" else { return text }
        guard text.count >= 2, text.last == "\"" else { return nil }
        return String(text.dropFirst().dropLast()).replacing("\\", with: "")
    }
}
