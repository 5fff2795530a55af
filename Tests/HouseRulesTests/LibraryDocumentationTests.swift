// SPDX-License-Identifier: Apache-2.0

import Testing

/// The rule of `make docs` that is broken easily. The tests do not run it, because it compiles for a minute.
struct LibraryDocumentationTests {
    @Test func `a public function documents all its parameters or none`() throws {
        var checked = 0
        for file in try Repository.swiftFiles(in: ["Sources/Receipts", "Sources/ReceiptsFoundation"]) {
            // A comment, then attributes, then the declaration up to its body.
            let declarations = file.text.matches(
                of:
                    #/
                    (?m)((?:^\ *///.*\n)+)(?:\ *@.*\n)*
                    \ *public\ [^\n{=]*(?:func\ [^(\n]*|init[?<\w>\ :]*)
                    \(((?s:.{0,1500}))
                    /#)
            for declaration in declarations {
                let comment = declaration.output.1, signature = declaration.output.2
                let documented = Set(comment.matches(of: /- (?:Parameter )?(\w+):/).map { String($0.output.1) })
                    .subtracting(["Returns", "Throws", "Parameters"])
                guard !documented.isEmpty else { continue }
                let parameters = Set(Self.parameters(of: signature))
                #expect(documented == parameters, "\(file.path): \(signature.prefix(60))")
                checked += 1
            }
        }
        #expect(checked > 5)
    }

    /// Returns the names of parameters, of a signature behind its first parenthesis.
    private static func parameters(of signature: Substring) -> [String] {
        var depth = 1, list = ""
        for character in signature {
            if "([<".contains(character) { depth += 1 }
            if ")]".contains(character) || (character == ">" && list.last != "-") { depth -= 1 }
            if depth == 0 { break }
            // What is inside a type or a default value has no parameters.
            if depth == 1 { list.append(character) }
        }
        return list.matches(of: /(?:^|,)\s*(?:@?\w+ )*?(?:\w+ )?(\w+):/).map { String($0.output.1) }
    }
}
