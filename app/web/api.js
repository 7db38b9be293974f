// The service: requests with the key, problems as sentences, lists, event streams.

const KEY = "ibid.key"; // in sessionStorage: gone with the tab
/** Characters of a text or question, as the service counts them. */
export const MOST_TEXT = 32_000;

/** What went wrong, in one line for the reader; `status` 0: the service cannot be reached. */
export class Problem extends Error {
  constructor(message, status = 0, body = null) {
    super(message);
    this.status = status;
    this.body = body;
  }
}

export const key = () => sessionStorage.getItem(KEY) ?? "";
export const setKey = (text) => (text ? sessionStorage.setItem(KEY, text) : sessionStorage.removeItem(KEY));

/** With the key in use, unless `extra` has another. */
export const headers = (extra = {}) => (key() ? { Authorization: `Bearer ${key()}`, ...extra } : extra);

/** A problem document as a `Problem`; a 401 also asks for the key. */
export function problem(status, body) {
  if (status === 401) dispatchEvent(new CustomEvent("ibid:key"));
  const parts = [body?.title ?? `The service answered ${status}`, body?.detail].filter(Boolean);
  return new Problem([...new Set(parts)].join(": "), status, body);
}

export async function call(path, options = {}) {
  let response;
  try {
    response = await fetch(path, { ...options, headers: headers(options.headers) });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem("The service cannot be reached. Is `ibid serve` still running?");
  }
  if (!response.ok) throw problem(response.status, await response.json().catch(() => null));
  return response;
}

export async function json(path, options) {
  const response = await call(path, options);
  return response.status === 204 ? null : response.json();
}

/** A request with a JSON body: send("PATCH", "/memories/…", {text}). */
export const send = (method, path, body, options = {}) =>
  json(path, { ...options, method, headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });

/** A path with its query; undefined and empty values are left out. */
export function address(path, query = {}) {
  const found = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== "");
  return found.length ? `${path}?${new URLSearchParams(found)}` : path;
}

/** All items of a list. */
export async function all(path, query = {}) {
  const items = [];
  let cursor;
  do {
    const page = await json(address(path, { limit: 200, ...query, cursor }));
    items.push(...page.items);
    cursor = page.next;
  } while (cursor);
  return items;
}

/** How many items a list has. */
export const total = async (path, query = {}, options = {}) => (await json(address(path, query), options)).total;

/** Server-sent events of a response: {event, data, id}, comments and unknown fields passed over. */
export async function* events(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const blocks = (rest + value).split(/\r?\n\r?\n/);
    rest = blocks.pop();
    for (const block of blocks) {
      const lines = block.split(/\r?\n/);
      const field = (name) =>
        lines.filter((line) => line.startsWith(`${name}:`)).map((line) => line.slice(name.length + 1).replace(/^ /, ""));
      const data = field("data").join("\n");
      if (data) yield { event: field("event")[0] ?? "message", data: JSON.parse(data), id: field("id")[0] };
    }
  }
}

/** A file of the service as an address for `src` and `href`, since these cannot carry a key. Revoke it after use. */
export async function blob(path, options) {
  return URL.createObjectURL(await (await call(path, options)).blob());
}
