// Answers on their way: asked, followed, resumed when the connection is lost or the page is reloaded, stopped.

import { Problem, address, call, events, json } from "./api.js";
import { finish } from "./deletion.js";

const ASKED = "ibid.asked"; // in sessionStorage: by session, the question that the service may not have kept, and what came of it
const TRIES = 2; // to resume
const PAUSE_MS = 1000;
const LOST = "The connection to the service was lost.";
const WAIT_MS = 15_000; // for an answer whose id is not known yet

const running = new Set(); // turns that are followed
let leaving = false;
addEventListener("pagehide", () => {
  leaving = true;
  running.forEach((turn) => keep(turn));
});
addEventListener("pageshow", () => (leaving = false));

const noted = () => JSON.parse(sessionStorage.getItem(ASKED) ?? "{}");

/** Remember, or with null forget, what a session is being answered. */
function note(session, entry) {
  const all = { ...noted(), [session]: entry ?? undefined };
  try {
    sessionStorage.setItem(ASKED, JSON.stringify(all));
  } catch { // no room for it: the question alone
    if (entry?.text) note(session, { ...entry, meta: undefined, text: "" });
  }
}

/** Keep what has come of an answer, since the service may lose it. `state`: "" it is on its way; "broke": it cannot be
 *  followed; "lost": the service does not have it. */
function keep({ session, question, id, meta, writing, stopped }, state = "") {
  if (!stopped) note(session, { question, id, meta: writing && meta, text: writing?.text, state, at: new Date().toISOString() });
}

/** The last question of a session, if it was not answered to its end as far as is known: {question, id, meta, text, state}. */
export const underway = (session) => noted()[session];

/** All of these, by session. */
export const unfinished = () => Object.entries(noted());

/** It is answered or given up. */
export const drop = (session) => note(session, null);

const pause = (time) => new Promise((resolve) => setTimeout(resolve, time));

/** Ask a turn's question. `onEvent(event, data)` gets the events one after another, `onLost(tries)` says that the connection is gone. Raises
 *  `Problem`; returns when the last event has come, or the turn was stopped before its first. */
export async function ask(turn, body, onEvent, onLost) {
  keep(turn);
  await finish();
  const post = () => call("/api/chat", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ message: turn.question, session_id: turn.session, on_disconnect: "continue", ...body }),
    signal: turn.control.signal,
  });
  await follow(turn, post, onEvent, onLost);
}

/** Follow an answer that is under way, from the event after the last that came. Without its id it is looked for:
 *  `turn.known` are the ids that it cannot have. */
export async function resume(turn, onEvent, onLost) {
  keep(turn);
  await follow(turn, async () => again(turn, turn.id || await idOf(turn)), onEvent, onLost);
}

const again = (turn, id) => call(`/answers/${id}/events`, {
  headers: turn.last ? { "Last-Event-ID": turn.last } : {},
  signal: turn.control.signal,
});

/** The id of the answer under way in a session, known once the model has begun; or of one that has just ended. */
async function idOf(turn) {
  for (const end = Date.now() + WAIT_MS; Date.now() < end; await pause(PAUSE_MS)) {
    const control = new AbortController();
    const response = await call(`/api/chat/ui/${encodeURIComponent(turn.session)}/stream`, { signal: control.signal });
    if (response.status !== 204) {
      for await (const { data } of events(response)) {
        control.abort();
        return data.messageId;
      }
    }
    const [newest] = (await json(address("/answers", { session_id: turn.session, limit: 1 }))).items;
    if (newest?.question === turn.question && !turn.known.has(newest.answer_id)) return newest.answer_id;
  }
  throw new Problem("The answer did not come.", 404);
}

async function follow(turn, open, onEvent, onLost) {
  running.add(turn);
  try {
    await followed(turn, open, onEvent, onLost);
  } finally {
    running.delete(turn);
  }
}

async function followed(turn, open, onEvent, onLost) {
  for (let tries = 0; ; tries += 1) {
    try {
      if (await heard(turn, await (tries ? again(turn, turn.id) : open()), onEvent)) return forget(turn);
      throw new Problem(LOST);
    } catch (error) {
      const cut = error instanceof TypeError;
      const gone = cut || error.status === 0;
      if (error.name === "AbortError" || error.status === 401) forget(turn);
      else if (!leaving) keep(turn, gone ? "broke" : "lost");
      if (turn.stopped) return;
      if (!gone) throw error;
      if (!turn.id || tries === TRIES) throw cut ? new Problem(LOST) : error;
      onLost(tries + 1);
      await pause(PAUSE_MS * (tries + 1));
    }
  }
}

/** It is over, unless the page is left: then a reload goes on with it. */
const forget = ({ session, stopped }) => leaving || stopped || note(session, null);

/** Tell the events of a response; true if the last has come. */
async function heard(turn, response, onEvent) {
  for await (const { event, data, id } of events(response)) {
    turn.last = id ?? turn.last;
    if (event === "meta") {
      turn.id = data.answer_id;
      keep(turn);
      if (turn.stopped) return halt(turn);
    }
    await onEvent(event, data);
    if (event === "done") return true;
  }
  return false;
}

async function halt(turn) {
  await call(`/answers/${turn.id}/stop`, { method: "POST" }).catch(() => {});
  turn.control.abort();
  return true;
}

/** Stop an answer, in the service too. True if its last events follow; else nothing more is heard of it: its id is
 *  not known yet, and the service stops as soon as it is. */
export function stop(turn) {
  if (!turn.id) {
    drop(turn.session);
    turn.stopped = true; // from now on the session may have another question
    return false;
  }
  call(`/answers/${turn.id}/stop`, { method: "POST" }).catch(() => turn.control.abort());
  return true;
}
