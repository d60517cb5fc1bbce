// One column chunk: what the footer says, its pages, its dictionary, and a page itself.

import { button, focusIn, h, replace, tabs, type Child } from "../dom";
import type { Link } from "../link";
import type { BloomTab, ChunkBody, PageContent } from "../messages";
import type { Keys, Screen } from "./screen";
import { table } from "./table";

const TABS: [string, string][] = [
  ["pages", "Pages"],
  ["page", "Page"],
  ["dictionary", "Dictionary"],
  ["bloom", "Bloom filter"],
  ["details", "Details"],
];

export function chunk(link: Link): Screen<ChunkBody> {
  const pages = table(link, "pages", "Pages of the chunk", {
    open: (page) => link.go({ screen: "chunk", page }),
    pick: (keys, isMore) => link.do("pick_pages", { pages: keys, mode: isMore ? "add" : "replace" }),
    clear: () => link.do("pick_pages", { pages: null }),
  });
  const dictionary = table(link, "dictionary", "Entries of the dictionary", {});
  const tablist = h("div", { class: "pq-tabs", "aria-label": "Of the chunk" });
  const content = h("div", { class: "pq-tab" });
  const element = h("div", { class: "pq-screen" }, tablist, content);
  let tab = "pages";
  let current: ChunkBody | null = null;

  function update(body: ChunkBody): void {
    current = body;
    tab = body.tab;
    tabs(
      tablist,
      TABS.filter(([name]) => name !== "page" || body.page !== null).map(([name, label]) => ({
        name,
        label: name === "page" ? pageName(body.page) : label,
        go: () => link.go({ screen: "chunk", tab: name }),
      })),
      body.tab,
    );
    replace(content, ...drawn(body));
    const focused = focusIn(tablist);
    if (focused !== null && focused.getAttribute("aria-selected") !== "true") focus(); // another way led here
    if (body.tab === "pages" && body.pages !== null) pages.update(body.pages, body.picked_pages);
    if (body.tab === "dictionary" && body.dictionary !== null) dictionary.update(body.dictionary);
  }

  function drawn(body: ChunkBody): Child[] {
    switch (body.tab) {
      case "pages":
        return pagesTab(body);
      case "dictionary":
        return dictionaryTab(body);
      case "bloom":
        return bloomTab(body.bloom);
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
    if (body.dictionary_to_read === "") return [h("p", { class: "pq-muted" }, "The footer states no dictionary page of this chunk.")];
    const read = (label: string) => button(label, () => link.load("dictionary"), { class: "pq-primary", "data-name": "load dictionary" });
    if (!body.is_dictionary_large) return [h("p", {}, "The dictionary is not read."), read(`Read ${body.dictionary_to_read}`)];
    return [
      h("p", { role: "alert" }, `That is much: ${body.dictionary_to_read}, and more when it is decompressed. Is it to be read all the same?`),
      read("Read it all the same"),
    ];
  }

  function bloomTab(bloom: BloomTab): Child[] {
    if (bloom.none !== "") return [h("p", { class: "pq-muted" }, bloom.none)];
    if (bloom.facts.length === 0)
      return [
        h("p", {}, "It tells values that the chunk does not have. It is not read."),
        button(`Read ${bloom.to_read}`, () => link.load("bloom filter"), { class: "pq-primary", "data-name": "load bloom filter" }),
      ];
    return [
      h(
        "p",
        { class: "pq-tools" },
        h("input", {
          type: "search",
          "data-name": "probe",
          placeholder: "Is this value there?",
          "aria-label": "A value to look for",
          value: bloom.value,
          on: { input: (e: Event) => link.do("look", { probe: (e.target as HTMLInputElement).value }) },
        }),
        h("b", { class: `pq-answer pq-answer-${bloom.answer}`, role: "status", "aria-live": "polite" }, bloom.words),
      ),
      h("dl", {}, ...bloom.facts.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)])),
    ];
  }

  function pageTab(page: PageContent): Child[] {
    return [
      h(
        "div",
        { class: "pq-columns pq-page" },
        part("Header", h("pre", {}, page.header.join("\n"))),
        part("First values", h("ol", { start: 0 }, ...page.values.map((value) => h("li", {}, value)))),
        part("Bytes as stored", h("pre", {}, page.hex.join("\n")), page.hex_left_out !== "" && h("p", { class: "pq-muted" }, `… and ${page.hex_left_out} more`)),
      ),
    ];
  }

  const shownTable = () => (tab === "pages" && current?.pages ? pages : tab === "dictionary" && current?.dictionary ? dictionary : null);

  function keys(): Keys {
    const found: Keys = [["← →", "changes tabs"]];
    if (shownTable() !== null) found.unshift(["↑ ↓", "moves"]);
    if (shownTable() === pages) found.push(["Shift+↑ ↓", "picks pages"], ["Enter", "opens a page"], ["Esc", "all pages"]);
    if (shownTable() === dictionary || (tab === "bloom" && current?.bloom.facts.length)) found.push(["/", "searches"]);
    return found;
  }

  function focus(): void {
    const inside = shownTable()?.element ?? content.querySelector<HTMLElement>("button, input");
    (inside ?? tablist.querySelector<HTMLElement>("[aria-selected=true]"))?.focus({ preventScroll: true });
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
    keys,
    focus,
    enter: () => shownTable()?.enter(),
    search: () => content.querySelector("input")?.focus(),
  };
}

const pageName = (page: number | null): string => (page === -1 ? "Dictionary page" : `Page ${page}`);

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
