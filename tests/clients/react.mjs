// `useChat` of the AI SDK in React, rendered without a page.
// node react.mjs URL JSON, which says what to do; prints what was rendered.
import { useChat } from "@ai-sdk/react";
import { DefaultChatTransport } from "ai";
import { createElement as element } from "react";
import { create } from "react-test-renderer";

const [url, text] = process.argv.slice(2);
const { asks, id, body, resume = false } = JSON.parse(text);
const transport = new DefaultChatTransport({ api: `${url}/api/chat/ui`, body });
const statuses = [];
const answers = new Set();
let chat;

function Chat() {
  chat = useChat({ id, transport, resume });
  if (statuses.at(-1) !== chat.status) statuses.push(chat.status);
  return chat.messages.map(({ id: key, role, parts }) => {
    const said = parts.filter(({ type }) => type === "text").map(({ text }) => text).join("");
    if (role === "assistant" && said) answers.add(said);
    const sources = parts.filter(({ type }) => type === "source-document");
    return element(role, { key, id: key }, said, ...sources.map(({ filename }) => element("cite", null, filename)));
  });
}

const page = create(element(Chat));
const pause = () => new Promise((done) => setTimeout(done, 20));
const settled = async (more) => {
  while (chat?.status !== "ready" || !more()) await pause();
  await pause();
};
await settled(() => !resume || answers.size > 0);
for (const ask of asks ?? []) await chat.sendMessage({ text: ask });
await settled(() => true);
process.stdout.write(JSON.stringify({ shown: page.toJSON(), statuses, answers: [...answers] }), () => process.exit(0));
