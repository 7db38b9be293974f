// The source panel beside the conversation: the page, the text, and why this passage.

import { $ } from "./dom.js";

/** Opens on a citation. `answer`: {answer_id, session_id, citations, cited, spans}; `n`: its place among `citations`, from 1. */
export function open(answer, n) {}

export function close() {
  $("panel").hidden = true;
}

export function setUp() {}
