// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import LoadTest

struct HTMLTests {
    @Test func `text cannot become markup`() {
        let text = #"<script>alert("1" + '2') & more</script>"#
        let escaped = "&lt;script&gt;alert(&quot;1&quot; + &#39;2&#39;) &amp; more&lt;/script&gt;"
        #expect(HTML.text(text).text == escaped)
        let element: HTML = #"<b class="\#(text)">\#(text)</b>"#
        #expect(element.text == "<b class=\"\(escaped)\">\(escaped)</b>")
    }

    @Test func `what deceives the eye is shown as what it is not`() {
        #expect(
            HTML.text("a\u{202E}b\u{0}c\u{1B}d\u{85}e\tf\ng").text == "a\u{FFFD}b\u{FFFD}c\u{FFFD}d\u{FFFD}e\tf\ng")
    }

    @Test func `JSON cannot end the script it is in`() {
        let json = #"{"a":"</script><!--<script>&"# + "\u{2028}\"}"
        let html: HTML = "\(json: json)"
        #expect(html.text == #"{"a":"\u003c/script\u003e\u003c!--\u003cscript\u003e\u0026\u2028"}"#)
    }

    @Test func `a number stands with its place and all its digits`() {
        #expect(HTML.value("a.b", 1.0625).text == #"<data data-path="a.b" value="1.0625">1.06</data>"#)
        #expect(HTML.value("a.b", nil).text == #"<span class="none">–</span>"#)
    }
}
