// One column chunk: what the footer says, its pages, its dictionary, and a page itself.

import { button, h, replace, type Child } from "../dom";
import type { Link } from "../link";
import type { ChunkBody, PageContent } from "../messages";
import type { Screen } from "./screen";
import { table } from "./table";

const TABS: [string, string][] = [
  ["pages", "Pages"],
  ["page", "Page"],
  ["dictionary", "Dictionary"],
  ["details", "Details"],
];

export function chunk(link: Link): Screen<ChunkBody> {
  const pages = table(link, "pages", "Pages of the chunk", {
    open: (page) => link.go({ screen: "chunk", page }),
    pick: (keys, isMore) => link.do("pick_pages", { pages: keys, mode: isMore ? "add" : "replace" }),
  });
  const dictionary = table(link, "dictionary", "Entries of the dictionary", {});
  const tabs = h("div", { class: "pq-tabs", role: "tablist" });
  const content = h("div", { class: "pq-tab" });
  const element = h("div", { class: "pq-screen" }, tabs, content);

  function update(body: ChunkBody): void {
    const shown = TABS.filter(([tab]) => tab !== "page" || body.page !== null);
    replace(
      tabs,
      ...shown.map(([tab, label]) =>
        button(tab === "page" ? `Page ${body.page}` : label, () => link.go({ screen: "chunk", tab }), {
          role: "tab",
          "data-name": `tab ${tab}`,
          "aria-selected": String(body.tab === tab),
        }),
      ),
    );
    replace(content, ...drawn(body));
    if (body.tab === "pages" && body.pages !== null) pages.update(body.pages, body.picked_pages);
    if (body.tab === "dictionary" && body.dictionary !== null) dictionary.update(body.dictionary);
  }

  function drawn(body: ChunkBody): Child[] {
    switch (body.tab) {
      case "pages":
        return pagesTab(body);
      case "dictionary":
        return dictionaryTab(body);
      case "page":
        return body.page_content === null ? [h("p", { class: "pq-muted" }, "reading the page…")] : pageTab(body.page_content);
      default:
        return [sections(body)];
    }
  }

  function pagesTab(body: ChunkBody): Child[] {
    if (body.pages === null)
      return [
        h("p", {}, "The pages of this chunk are not read."),
        button(`Read ${body.to_read}`, () => link.load("pages"), { class: "pq-primary", "data-name": "load pages" }),
      ];
    return [
      h(
        "p",
        { class: "pq-tools pq-muted" },
        "A click, or Shift with arrows, picks pages; Enter opens one. ",
        !body.has_headers && button("Read the page headers, too", () => link.load("headers"), { "data-name": "load headers" }),
        button("All pages", () => link.do("pick_pages", { pages: null }), { "data-name": "all pages" }),
      ),
      pages.element,
    ];
  }

  function dictionaryTab(body: ChunkBody): Child[] {
    if (body.dictionary !== null)
      return [
        h(
          "p",
          { class: "pq-tools" },
          h("input", {
            type: "search",
            "data-name": "search",
            placeholder: "Search the entries",
            "aria-label": "Entries that contain",
            value: body.search,
            on: { input: (e: Event) => link.do("look", { search: (e.target as HTMLInputElement).value }) },
          }),
          h("span", { class: "pq-muted" }, `${body.dictionary.num_rows.toLocaleString("en")} entries`),
        ),
        dictionary.element,
      ];
    if (body.dictionary_to_read === "") return [h("p", { class: "pq-muted" }, "The chunk has no dictionary page.")];
    return [button(`Read ${body.dictionary_to_read}`, () => link.load("dictionary"), { class: "pq-primary", "data-name": "load dictionary" })];
  }

  function pageTab(page: PageContent): Child[] {
    return [
      h(
        "div",
        { class: "pq-columns" },
        part("Header", h("pre", {}, page.header.join("\n"))),
        part("First values", h("ol", { start: 0 }, ...page.values.map((value) => h("li", {}, value)))),
        part("Bytes as stored", h("pre", {}, page.hex.join("\n")), page.hex_left_out !== "" && h("p", { class: "pq-muted" }, `… and ${page.hex_left_out} more`)),
      ),
    ];
  }

  function close(): void {
    pages.close();
    dictionary.close();
  }

  return {
    element,
    update,
    rows: (answer) => (answer.table === "pages" ? pages : dictionary).take(answer),
    close,
    search: () => content.querySelector("input")?.focus(),
  };
}

function sections(body: ChunkBody): HTMLElement {
  return h(
    "div",
    { class: "pq-columns" },
    ...body.sections.map(([title, facts]) =>
      part(title, h("dl", {}, ...facts.flatMap(([name, value]) => [h("dt", {}, name), h("dd", { class: value === "—" ? "pq-muted" : undefined }, value)]))),
    ),
  );
}

const part = (title: string, ...children: Child[]): HTMLElement => h("section", {}, h("h4", {}, title), ...children);
