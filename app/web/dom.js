// Elements, and the small things every view needs. Texts go in as textContent: nothing here builds HTML from strings.

export const $ = (id) => document.getElementById(id);

/** Without the signs that turn the direction of what follows: "report<U+202E>fdp.exe" must not look like another name. */
export const straight = (text) => String(text).replace(/[\u202a-\u202e]/g, "");

/** An element with text and properties: make("p", "facts", "3 passages", {title: "…"}). */
export function make(tag, className = "", text = "", properties = {}) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text) element.textContent = straight(text);
  return Object.assign(element, properties);
}

/** The same with children: box("div", "row", [name, state]). Falsy children are left out. */
export function box(tag, className, children) {
  const element = make(tag, className);
  element.append(...children.filter(Boolean).map((child) => (child instanceof Node ? child : straight(child))));
  return element;
}

/** A button. `label` is what a screen reader says and a pointer shows, where the text alone says too little. */
export function button(text, onClick, className = "", label = "") {
  const made = make("button", className, text, { type: "button" });
  if (label) {
    made.setAttribute("aria-label", straight(label));
    made.title = straight(label);
  }
  made.addEventListener("click", onClick);
  return made;
}

/** A labelled field: field("Name", make("input")). */
export function field(text, input, hint = "") {
  const label = box("label", "field", [make("span", "", text), input]);
  if (hint) label.append(make("small", "soft", hint));
  return label;
}

export const count = (number, noun) => `${number.toLocaleString()} ${noun}${number === 1 ? "" : "s"}`;

/** "14:05" of today, else "7 May" or "7 May 2024". */
export function when(moment) {
  const date = new Date(moment);
  const now = new Date();
  if (date.toDateString() === now.toDateString()) return date.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
  const year = date.getFullYear() === now.getFullYear() ? undefined : "numeric";
  return date.toLocaleDateString([], { day: "numeric", month: "short", year });
}

const TOAST_MS = 8000;
const TOASTS = 3; // at once
let closers = []; // of the toasts that are shown, the oldest first

/** A change of the row of toasts. It takes its room from the top of what is scrolled, which is moved so that nothing
 *  seems to move, and never from what was just used. */
function inRow(change) {
  const top = () => $("main").getBoundingClientRect().top;
  const before = top();
  change();
  const scroller = $("main").querySelector(".talk, .page");
  if (!scroller) return;
  scroller.scrollTop += top() - before;
  const used = document.activeElement;
  if (used !== scroller && scroller.contains(used)) used.scrollIntoView({ block: "nearest" });
}

/** A line above the view that goes by itself, but not while it is pointed at or has the focus. With `undo` it has a
 *  button, also by Ctrl/⌘-Z; `gone` is called if nobody undid. */
export function toast(text, { undo = null, gone = null } = {}) {
  const line = make("p", "toast", text);
  let timer;
  const close = (taken) => {
    if (!line.isConnected) return;
    clearTimeout(timer);
    closers = closers.filter((each) => each !== close);
    inRow(() => line.remove());
    (taken ? undo : gone)?.();
  };
  Object.assign(close, { undone: undo, lasting: gone });
  const wait = () => {
    clearTimeout(timer);
    timer = setTimeout(() => (line.matches(":hover, :focus-within") ? wait() : close(false)), TOAST_MS);
  };
  if (undo) line.append(button("Undo", () => close(true)));
  if (closers.length === TOASTS) closers[0](false);
  closers.push(close);
  inRow(() => $("toasts").append(line));
  wait();
  return () => close(false);
}

let view = "";
/** A line goes with the view that it was said in, but not what is yet to be deleted. */
addEventListener("ibid:address", ({ detail: [name, id] }) => {
  const now = name === "c" ? id : name;
  if (now !== view) closers.filter(({ lasting }) => !lasting).forEach((close) => close(false));
  view = now;
});

addEventListener("keydown", (event) => {
  const wanted = event.key.toLowerCase() === "z" && (event.ctrlKey || event.metaKey) && !event.shiftKey;
  if (!wanted || event.target.closest?.("input, textarea, dialog")) return;
  const last = closers.findLast((close) => close.undone);
  if (!last) return;
  event.preventDefault();
  last(true);
});

/** A modal dialog with a title; `fill(form, close)` puts its content. Resolves with what `close` was given. Once something
 *  was typed, a click beside it does not close it, and Esc asks first. */
export function dialog(title, fill) {
  return new Promise((resolve) => {
    const form = make("form", "", "", { method: "dialog" });
    const head = make("h2", "", title, { id: "dialog-title" });
    const top = box("dialog", "box", [head, form]);
    top.setAttribute("aria-labelledby", "dialog-title");
    let result;
    const close = (value) => {
      result = value;
      top.close();
    };
    top.addEventListener("close", () => {
      top.remove(); // focus goes back to where it was: showModal() remembers it
      resolve(result);
    });
    let typed = false;
    form.addEventListener("input", () => (typed = true));
    top.addEventListener("click", (event) => event.target === top && !typed && close());
    const leave = box("p", "row end", [make("span", "grow", "Discard what you typed?"),
      button("Discard", () => close(), "bad"), button("Keep writing", () => ask(false))]);
    leave.hidden = true;
    let before = null; // had the focus when it was asked
    function ask(open) {
      if (open && leave.hidden) before = document.activeElement;
      leave.hidden = !open;
      (open ? leave.lastChild : before)?.focus();
    }
    top.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || !typed) return;
      event.preventDefault();
      ask(leave.hidden);
    });
    fill(form, close);
    top.append(leave);
    document.body.append(top);
    top.showModal();
  });
}

/** True if the reader says so. */
export function confirmed(question, yes) {
  return dialog(question, (form, close) => {
    form.append(box("div", "row end", [
      button("Cancel", () => close(false)),
      button(yes, () => close(true), "strong danger"),
    ]));
  });
}

/** A menu below a button: items {text, act}. Closes by itself, focus goes back to the button. */
export function menu(anchor, items) {
  const list = make("div", "menu", "", { popover: "auto" });
  list.setAttribute("role", "menu");
  for (const { text, act, danger } of items) {
    const entry = button(text, () => {
      list.hidePopover();
      act();
    }, danger ? "bad" : "");
    entry.setAttribute("role", "menuitem");
    list.append(entry);
  }
  list.addEventListener("keydown", (event) => {
    if (event.key === "Tab") { // goes on from the button
      anchor.focus();
      return list.hidePopover();
    }
    const all = [...list.children];
    const now = all.indexOf(document.activeElement);
    const next = { ArrowDown: now + 1, ArrowUp: now - 1, Home: 0, End: -1 }[event.key];
    if (next === undefined) return undefined;
    event.preventDefault();
    return all.at(next % all.length).focus();
  });
  list.addEventListener("toggle", (event) => {
    if (event.newState !== "closed") return;
    if (list.contains(document.activeElement) || document.activeElement === document.body) anchor.focus();
    list.remove();
  });
  (anchor.closest("nav, main, aside, dialog") ?? document.body).append(list); // within its landmark
  list.showPopover();
  const at = anchor.getBoundingClientRect();
  list.style.left = `${Math.max(8, Math.min(at.left, innerWidth - list.offsetWidth - 8))}px`;
  list.style.top = `${at.bottom + list.offsetHeight > innerHeight ? at.top - list.offsetHeight : at.bottom + 2}px`;
  list.firstChild.focus();
}
