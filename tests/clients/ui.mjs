// A chat as `useChat` of the AI SDK keeps it (`AbstractChat` and the default transport), without a page.
// node ui.mjs URL JSON, which says what to do; prints what there is in the end.
import { AbstractChat, DefaultChatTransport } from "ai";

const [url, text] = process.argv.slice(2);
const { asks, id, body, headers, leaveAfter, stopAfter, resume } = JSON.parse(text);

class State {
  constructor() {
    this.status = "ready";
    this.messages = [];
    this.error = undefined;
    this.snapshot = structuredClone;
  }
  pushMessage = (message) => (this.messages = [...this.messages, message]);
  popMessage = () => (this.messages = this.messages.slice(0, -1));
  replaceMessage = (index, message) => {
    this.messages = this.messages.with(index, structuredClone(message));
    updates += 1;
    if (updates === leaveAfter) print(); // the page is closed
    if (updates === stopAfter) chat.stop();
  };
}
class Chat extends AbstractChat {
  constructor(init) {
    super({ ...init, state: new State() });
  }
}
function print() {
  const { messages, status, error } = chat;
  process.stdout.write(JSON.stringify({ messages, status, error: error?.message ?? null, updates }), () =>
    process.exit(0),
  );
}

let updates = 0;
const transport = new DefaultChatTransport({ api: `${url}/api/chat/ui`, body, headers });
const chat = new Chat({ id, transport });
if (resume) await chat.resumeStream();
for (const ask of asks ?? []) await chat.sendMessage({ text: ask });
print();
