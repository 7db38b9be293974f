// What the page remembers, and what its parts tell each other.

const bus = new EventTarget();

/** Tell that something changed: "documents", "memories", "texts", "projects", "sessions", "settings"; "dropped": an unfinished chat. */
export const tell = (name, detail = null) => bus.dispatchEvent(new CustomEvent(name, { detail }));

/** Be told; returns what ends it. */
export function on(name, heard) {
  const listener = (event) => heard(event.detail);
  bus.addEventListener(name, listener);
  return () => bus.removeEventListener(name, listener);
}

function setting(name, otherwise) {
  const stored = `ibid.${name}`;
  return {
    get() {
      try {
        return JSON.parse(localStorage.getItem(stored)) ?? otherwise;
      } catch {
        return otherwise;
      }
    },
    set(value) {
      localStorage.setItem(stored, JSON.stringify(value));
      tell("settings", name);
    },
  };
}

/** Whose memories are read and kept. With a user key the service decides. */
export const user = setting("user", "me");
/** The sources that are asked; null: those that the service chooses. */
export const sources = setting("sources", null);
export const project = setting("project", "");
/** The chat that was open last. */
export const session = setting("session", "");
/** Of the source panel, in pixels. */
export const panelWidth = setting("panel", 520);

export const freshSession = () => `web-${crypto.getRandomValues(new Uint32Array(2)).reduce((text, n) => text + n.toString(36), "")}`;

/** "light", "dark", or "" for the system's. */
export const theme = setting("theme", "");

const PERSONAL = "ibid.personal"; // in sessionStorage, as the key

/** Whether the key in use is one user's: it adds files to chats only. */
export const personalKey = {
  get: () => sessionStorage.getItem(PERSONAL) === "1",
  set: (is) => (is ? sessionStorage.setItem(PERSONAL, "1") : sessionStorage.removeItem(PERSONAL)),
};
