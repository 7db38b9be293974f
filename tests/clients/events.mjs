// Parses a stream from standard input with eventsource-parser, and prints its events.
import { createParser } from "eventsource-parser";

const events = [];
const parser = createParser({ onEvent: ({ id, event, data }) => events.push({ id, event, data: JSON.parse(data) }) });
for await (const piece of process.stdin.setEncoding("utf8")) parser.feed(piece);
console.log(JSON.stringify(events));
