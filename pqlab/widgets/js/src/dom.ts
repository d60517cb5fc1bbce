// Elements from plain values. Whatever comes from a file is text here, never HTML.

type Attribute = string | number | boolean | null | undefined;
export type Child = Node | string | null | undefined | false;

export interface Properties {
  class?: string | undefined;
  on?: { [event: string]: (event: never) => void };
  style?: { [property: string]: string };
  [attribute: string]: Attribute | object;
}

export function h<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  properties: Properties = {},
  ...children: Child[]
): HTMLElementTagNameMap[Tag] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name === "on") {
      for (const [event, listener] of Object.entries(properties.on ?? {})) {
        element.addEventListener(event, listener as (event: Event) => void);
      }
    } else if (name === "style") {
      for (const [property, set] of Object.entries(properties.style ?? {})) {
        element.style.setProperty(property, set);
      }
    } else if (value === true) {
      element.setAttribute(name, "");
    } else if (value !== null && value !== undefined && value !== false) {
      element.setAttribute(name, String(value));
    }
  }
  element.append(...children.filter((child): child is Node | string => child !== null && child !== undefined && child !== false));
  return element;
}

export function button(label: string, press: () => void, properties: Properties = {}): HTMLButtonElement {
  return h("button", { type: "button", ...properties, on: { click: press } }, label);
}

/** The element with the focus, if it is in this one. */
export function focusIn(element: HTMLElement): HTMLElement | null {
  const root = element.getRootNode();
  const focused = root instanceof Document || root instanceof ShadowRoot ? root.activeElement : null;
  return focused instanceof HTMLElement && element.contains(focused) ? focused : null;
}

/** Keys that are pressed in here are for what is in here: Jupyter's shortcuts look at the focus itself. */
export function keepKeys(root: HTMLElement): void {
  const keep = (element: EventTarget | null) => (element as HTMLElement).setAttribute("data-lm-suppress-shortcuts", "true");
  keep(root);
  root.addEventListener("focusin", (event) => keep(event.target));
}

const DOUBLE_CLICK_MS = 400;

/** Tells the second of two clicks on the same thing, also where it was drawn anew between them. */
export function doubleClicks(): (what: string) => boolean {
  let [last, when] = ["", 0];
  return (what) => {
    const now = performance.now();
    const isSecond = what === last && now - when < DOUBLE_CLICK_MS;
    [last, when] = isSecond ? ["", 0] : [what, now];
    return isSecond;
  };
}

export interface Tab {
  name: string;
  label: string;
  go: () => void;
}

/** The buttons of a list of tabs, which arrows walk. */
export function tabs(target: HTMLElement, items: Tab[], chosen: string): void {
  target.setAttribute("role", "tablist");
  target.onkeydown = (event) => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    const buttons = [...target.querySelectorAll<HTMLElement>("[role=tab]")];
    const at = buttons.indexOf(event.target as HTMLElement);
    if (step === 0 || at < 0) return;
    const next = buttons[(at + step + buttons.length) % buttons.length];
    next?.focus();
    next?.click();
    event.preventDefault();
    event.stopPropagation();
  };
  replace(
    target,
    ...items.map((item) =>
      button(item.label, item.go, {
        role: "tab",
        "data-name": `tab ${item.name}`,
        "aria-selected": String(item.name === chosen),
        tabindex: item.name === chosen || !items.some(({ name }) => name === chosen) ? 0 : -1,
      }),
    ),
  );
}

/**
 * Shows these children in the target. What is there already stays where it is, with its scrolling;
 * the focus, and what is being typed, go on in what has the same name.
 */
export function replace(target: HTMLElement, ...children: Child[]): void {
  const wanted = children
    .filter((child): child is Node | string => Boolean(child))
    .map((child) => (typeof child === "string" ? document.createTextNode(child) : child));
  const focused = focusIn(target);
  const name = focused?.dataset["name"];
  const typed = focused instanceof HTMLInputElement ? { value: focused.value, caret: focused.selectionStart } : null;
  for (const old of [...target.childNodes]) if (!wanted.includes(old)) old.remove();
  let place = target.firstChild;
  for (const child of wanted) {
    if (child === place) place = place.nextSibling;
    else target.insertBefore(child, place);
  }
  if (name === undefined || focused?.isConnected) return;
  const again = target.querySelector<HTMLElement>(`[data-name="${CSS.escape(name)}"]`);
  again?.focus({ preventScroll: true });
  if (again instanceof HTMLInputElement && typed !== null) {
    again.value = typed.value;
    again.setSelectionRange(typed.caret, typed.caret);
  }
}
