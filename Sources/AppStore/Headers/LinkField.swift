// SPDX-License-Identifier: Apache-2.0

package import Gateway
internal import HTTPClient

extension LifecycleLink {
    /// Creates a link from another source than a header; nil if its target is not safe to publish.
    package init?(checking target: String, _ relation: Relation) {
        guard target.utf8.count <= EndpointAnnouncements.Limits.targetBytes, Self.isPublishable(target) else {
            return nil
        }
        self.init(relation, target: target)
    }

    /// Returns true for an absolute URL of visible ASCII without characters that end a target or a value.
    static func isPublishable(_ target: String) -> Bool {
        let scheme = target.lowercased()
        return (scheme.hasPrefix("https://") || scheme.hasPrefix("http://"))
            && target.utf8.allSatisfy { (0x21...0x7E).contains($0) && !"\"<>".utf8.contains($0) }
    }
}

struct LinkValue: Hashable {
    /// The text between `<` and `>`.
    var target: String
    /// The parameters in order, names in lower case.
    var parameters: [Parameter] = []

    struct Parameter: Hashable {
        var name: String
        var value: String
    }

    /// The link's announcements. A link with an `anchor` is about another resource (RFC 8288 §3.2), and a relative
    /// target would change its meaning when published.
    var announcements: [LifecycleLink] {
        guard LifecycleLink.isPublishable(target), !parameters.contains(where: { $0.name == "anchor" }) else {
            return []
        }
        // RFC 8288 §3.3: one `rel` may have several relations; a second `rel` is ignored.
        let relations = parameters.first { $0.name == "rel" }?.value.lowercased().split(separator: " ") ?? []
        return relations.compactMap { LifecycleLink.Relation(rawValue: String($0)) }
            .map { LifecycleLink($0, target: target) }
    }
}

/// Parses a `Link` field (RFC 8288 §3).
///
/// ```
/// Link       = #link-value
/// link-value = "<" URI-Reference ">" *( OWS ";" OWS [ link-param ] )
/// link-param = token BWS [ "=" BWS ( token / quoted-string ) ]
/// ```
struct LinkField {
    private var rest: Substring.UTF8View

    /// Returns the links of one line; nil if it is malformed.
    static func links(_ line: String) -> [LinkValue]? {
        var field = LinkField(rest: Substring(line).utf8)
        var links: [LinkValue] = []
        while true {
            // RFC 9110 §5.6.1.2: empty elements of a list are ignored.
            while field.skip(",") {}
            if field.rest.isEmpty { return links }
            guard let link = field.link() else { return nil }
            links.append(link)
            guard field.rest.isEmpty || field.skip(",") else { return nil }
        }
    }

    private mutating func link() -> LinkValue? {
        guard skip("<"), let end = rest.firstIndex(of: UInt8(ascii: ">")) else { return nil }
        var link = LinkValue(target: String(Substring(rest[..<end])))
        rest = rest[end...].dropFirst()
        while skip(";") {
            let name = token()
            if name.isEmpty { continue }
            guard let value = skip("=") ? value() : "" else { return nil }
            link.parameters.append(LinkValue.Parameter(name: name.lowercased(), value: value))
        }
        return link
    }

    private mutating func value() -> String? {
        guard skip("\"") else {
            let token = token()
            return token.isEmpty ? nil : token
        }
        var bytes: [UInt8] = []
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "\""): return String(decoding: bytes, as: UTF8.self)
            case UInt8(ascii: "\\"): if let escaped = rest.popFirst() { bytes.append(escaped) }
            default: bytes.append(byte)
            }
        }
        return nil
    }

    private mutating func token() -> String {
        skipWhiteSpace()
        let token = rest.prefix(while: \.isTokenCharacter)
        rest = rest[token.endIndex...]
        return String(Substring(token))
    }

    private mutating func skip(_ character: Unicode.Scalar) -> Bool {
        skipWhiteSpace()
        guard rest.first == UInt8(ascii: character) else { return false }
        rest = rest.dropFirst()
        return true
    }

    private mutating func skipWhiteSpace() {
        rest = rest.drop { $0 == 0x20 || $0 == 0x09 }
    }
}
