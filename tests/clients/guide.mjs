// Runs the guide's client (from standard input) over a network that breaks: node guide.mjs URL HEADERS BODY.
import { randomUUID } from "node:crypto";
import { rm, writeFile } from "node:fs/promises";
import { text } from "node:stream/consumers";

const [url, headers, body] = process.argv.slice(2);
const real = fetch;
let requests = 0;
globalThis.fetch = async (path, init) => {
  requests += 1;
  const response = await real(url + path, { ...init, headers: { ...init.headers, ...JSON.parse(headers) } });
  let left = requests === 1 ? 5_000 : 600; // bytes until it breaks, though not before `meta` is there
  const reader = response.body?.getReader();
  const breaking = new ReadableStream({
    async pull(controller) {
      if (left < 0 && events.length) return controller.error(new TypeError("terminated"));
      const { done, value } = await reader.read();
      if (done) return controller.close();
      controller.enqueue(events.length ? value.slice(0, Math.max(0, left)) : value);
      left -= value.length;
    },
    cancel: (why) => reader.cancel(why),
  });
  return new Response(reader ? breaking : null, response);
};

const file = new URL(`.${randomUUID()}.mjs`, import.meta.url);
await writeFile(file, (await text(process.stdin)) + "\nexport { ask };\n");
const { ask } = await import(file).finally(() => rm(file));
const events = [];
for await (const event of ask(JSON.parse(body))) events.push(event);
console.log(JSON.stringify({ events, requests }));
