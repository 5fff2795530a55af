// SPDX-License-Identifier: Apache-2.0

internal import Gateway
internal import HTTPServer
internal import JSON

/// The members of a plugin's body that were read, and what may still be skipped. Plugins send much that decides nothing,
/// such as the device and the prices of all products; of two members with one name the last counts.
struct PluginBody {
    enum Limits {
        static let members = 128
        /// The steps that all skipped members together may take (`JSONReader.work`): about as many bytes of arrays and
        /// objects. An app's list of products may have hundreds of kilobytes.
        static let skippedWork = 512 << 10
        static let depth = 16
        static let nameBytes = 256
    }

    private var allowance = JSONSkipAllowance(maximumDepth: Limits.depth, maximumWork: Limits.skippedWork)
    private var memberCount = 0

    /// Reads the name of the next member that is used, and skips those before it; nil after the end of the object.
    /// - Parameter Member: the names of the members that are used. Faults of other members do not name them.
    mutating func next<Member: RawRepresentable<String>>(
        in reader: inout JSONReader
    ) throws(JSONFault) -> Member? {
        while let key = try reader.nextKey() {
            memberCount += 1
            guard memberCount <= Limits.members else {
                throw JSONFault(.tooManyValues(maximum: Limits.members), at: reader.position)
            }
            let name = try reader.value(of: key, maximumBytes: Limits.nameBytes)
            if let member = Member(rawValue: name) { return member }
            try reader.skipValue(within: &allowance)
        }
        return nil
    }

    /// Skips a `null`, which stands for no value. Returns false, and reads nothing, for any other value.
    mutating func skipsNull(in reader: inout JSONReader) throws(JSONFault) -> Bool {
        guard try reader.nextType() == .null else { return false }
        try reader.skipValue(within: &allowance)
        return true
    }

    /// Reads a text; nil for a value of another type, such as `null`.
    mutating func text(from reader: inout JSONReader) throws(JSONFault) -> String? {
        guard try reader.nextType() == .string else {
            try reader.skipValue(within: &allowance)
            return nil
        }
        return try reader.text()
    }
}

/// Evidence in a plugin's body, which is decoded once the whole body has been read.
enum PluginEvidence {
    /// A receipt in base64, or a JWS in its place.
    case receipt(Base64Text)
    case jws(JSONText)

    /// - Parameter name: the name of the member.
    func decoded(in body: Span<UInt8>, from field: some RawRepresentable<String>) throws -> Evidence {
        switch self {
        case .receipt(let text): try Problem.ofField(field) { try text.evidence(in: body) }
        case .jws(let text): .jws(try JSONReader(body).jws(text))
        }
    }
}
