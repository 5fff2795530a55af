// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

/// How a page looks: on paper, on a phone, by day and by night.
enum StyleSheet {
    static let text = """
        :root { color-scheme: light dark; \(variables(\.light)) }
        @media (prefers-color-scheme: dark) { :root { \(variables(\.dark)) } }
        @media print { :root { \(variables(\.light)) } }
        \(rules)
        \(Hue.allCases.map(classes).joined(separator: "\n"))

        """

    private static func variables(_ colour: (Hue) -> String) -> String {
        Hue.allCases.map { "--\($0.rawValue): \(colour($0));" }.joined(separator: " ")
    }

    private static func classes(_ hue: Hue) -> String {
        ".stroke-\(hue.rawValue) { stroke: var(--\(hue.rawValue)); } .fill-\(hue.rawValue) { fill: var(--\(hue.rawValue)); }"
    }

    private static let rules = """
        * { box-sizing: border-box; }
        html { background: var(--page); color: var(--ink); -webkit-text-size-adjust: 100%; }
        body { margin: 0; font: 15px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "DejaVu Sans",
          sans-serif; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
        main { max-width: 1064px; margin: 0 auto; padding: 40px 32px 24px; }
        h1 { font-size: 34px; line-height: 1.2; font-weight: 650; letter-spacing: -.015em; margin: 0; }
        h2 { font-size: 20px; line-height: 1.3; font-weight: 620; letter-spacing: -.005em; margin: 0 0 4px; }
        h3 { font-size: 15px; font-weight: 620; margin: 0 0 2px; }
        p { margin: 0 0 8px; max-width: 76ch; }
        .kicker { color: var(--muted); font-size: 13px; letter-spacing: .02em; margin: 0 0 10px; }
        .lead { color: var(--muted); margin: 10px 0 0; }
        .note, figcaption { color: var(--muted); font-size: 13.5px; max-width: 84ch; }
        .reasons { margin: 14px 0 0; padding: 0; list-style: none; font-size: 16px; }
        .reasons li { padding: 2px 0; }
        .whole { white-space: nowrap; }
        .none { color: var(--muted); }
        .good { color: var(--good); } .bad { color: var(--bad); } .caution { color: var(--caution); }
        header { padding: 0 0 28px; }
        .sign { display: inline-block; width: 1.05em; margin-right: 0; }
        section { background: var(--card); border: 1px solid var(--rule); border-radius: 10px; padding: 22px 24px 20px;
          margin: 0 0 20px; }
        .tiles { padding: 0; overflow: hidden; }
        .tiles dl { display: grid; grid-template-columns: repeat(6, 1fr); }
        .tile { padding: 18px 22px 16px; box-shadow: 1px 1px 0 var(--rule); }
        .tile dt { color: var(--muted); font-size: 13px; }
        .tile dd { margin: 2px 0 0; }
        .tile .figure { font-size: 25px; font-weight: 600; letter-spacing: -.015em; line-height: 1.25; }
        .tile .unit { font-size: 14px; font-weight: 400; color: var(--muted); letter-spacing: 0; }
        .tile .aside { color: var(--muted); font-size: 13px; }
        dl { margin: 0; }
        table { border-collapse: collapse; width: 100%; font-size: 14px; margin: 10px 0 4px; }
        caption { text-align: left; color: var(--muted); font-size: 13px; padding-bottom: 4px; }
        th, td { padding: 6px 0 6px 16px; text-align: right; border-bottom: 1px solid var(--rule); vertical-align: baseline;
          white-space: nowrap; }
        table.snug { width: auto; } .snug th, .snug td { padding-left: 40px; }
        th:first-child, td:first-child { padding-left: 0; }
        tr:last-child td, tr:last-child th { border-bottom: 0; }
        thead th { color: var(--muted); font-weight: 500; font-size: 13px; vertical-align: bottom; }
        tbody th { font-weight: 500; }
        .word { text-align: left; white-space: normal; min-width: 12ch; overflow-wrap: anywhere; }
        code, .code { font-family: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: .93em; }
        .wide-table { overflow-x: auto; }
        .beside { display: grid; grid-template-columns: minmax(300px, 5fr) 8fr; gap: 32px; align-items: start; }
        .pair { display: grid; grid-template-columns: 1fr 1fr; gap: 20px 40px; align-items: start; }
        figure { margin: 22px 0 0; padding: 20px 0 0; border-top: 1px solid var(--rule); }
        figure.first { margin-top: 8px; padding-top: 0; border-top: 0; }
        .beside figure, .pair figure { margin-top: 0; padding-top: 0; border-top: 0; }
        svg { display: block; width: 100%; height: auto; overflow: visible; }
        svg text { font-size: 12.5px; fill: var(--muted); }
        svg.narrow { display: none; }
        .gridline { stroke: var(--rule); stroke-width: 1; }
        .baseline { stroke: var(--muted); stroke-width: 1; }
        .line { fill: none; stroke-width: 1.8; stroke-linejoin: round; stroke-linecap: round; }
        .thin { stroke-width: 1.3; }
        .dashed { stroke-dasharray: 6 4; stroke-linecap: butt; }
        .seam { stroke: var(--card); stroke-width: .6; }
        .band { opacity: .22; }
        .aside-time { fill: var(--shade); }
        .mark { stroke: var(--ink); stroke-width: 1; stroke-dasharray: 2 3; }
        svg .mark-label { fill: var(--ink); font-size: 12px; }
        .legend { display: flex; flex-wrap: wrap; gap: 2px 20px; list-style: none; margin: 8px 0 6px; padding: 0; font-size: 13.5px; }
        .legend li { display: flex; align-items: center; gap: 7px; }
        .legend svg { width: 22px; height: 12px; flex: none; }
        details { margin-top: 8px; font-size: 14px; }
        summary { color: var(--muted); font-size: 13.5px; cursor: pointer; width: fit-content; }
        summary:focus-visible { outline: 2px solid var(--response); outline-offset: 3px; border-radius: 2px; }
        .facts { display: grid; grid-template-columns: minmax(130px, max-content) 1fr; font-size: 14px; margin-top: 10px; }
        .facts dt, .facts dd { margin: 0; padding: 6px 0; border-bottom: 1px solid var(--rule); }
        .facts dt { color: var(--muted); padding-right: 24px; }
        .facts dt:last-of-type, .facts dd:last-of-type { border-bottom: 0; }
        .pair > div > .note { margin-top: 14px; }
        .share { display: block; width: 100%; min-width: 60px; height: 10px; }
        footer { color: var(--muted); font-size: 13px; padding: 4px 0 24px; }
        @media screen and (max-width: 760px) {
          main { padding: 24px 14px 16px; }
          h1 { font-size: 26px; }
          section { padding: 16px 14px 14px; border-radius: 8px; }
          section.tiles { padding: 0; } .tiles dl { grid-template-columns: 1fr 1fr; }
          .tile { padding: 13px 14px 11px; }
          .tile .figure { font-size: 21px; }
          .beside, .pair { grid-template-columns: minmax(0, 1fr); }
          svg.wide { display: none; }
          svg.narrow { display: block; max-width: 520px; }
          .facts { grid-template-columns: minmax(96px, max-content) 1fr; }
          th, td { padding-left: 10px; } .share { min-width: 28px; }
        }
        @media print {
          html { background: none; font-size: 11pt; }
          main { max-width: none; padding: 0; }
          section { border: 0; padding: 0 0 12pt; margin: 0 0 8pt; break-inside: auto; }
          section.tiles { border: 1px solid var(--rule); padding: 0; }
          figure, tr, .tile, .facts { break-inside: avoid; }
          h2, h3, section > .note { break-after: avoid; }
          body { font-size: 12.5px; } .tiles dl { grid-template-columns: repeat(3, 1fr); }
          details:not([open]) { display: none; }
          .beside, .pair { grid-template-columns: 1fr 1fr; }
          svg.wide { display: block; } svg.narrow { display: none; }
          * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
        }
        """
}
