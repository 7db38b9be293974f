// Asks a question with the AI SDK, over the Responses API, and prints what arrived.
import { createOpenAI } from "@ai-sdk/openai";
import { streamText } from "ai";

const [baseURL, prompt] = process.argv.slice(2);
const ibid = createOpenAI({ baseURL, apiKey: "unused", headers: { "X-Ibid-Session": "sdk" } });
const answer = streamText({ model: ibid("ibid"), prompt, maxRetries: 0, onError: () => {} });
const told = { deltas: 0, text: "", sources: [], error: null };
for await (const part of answer.fullStream) {
  if (part.type === "text-delta") {
    told.deltas += 1;
    told.text += part.text;
  }
  if (part.type === "source") told.sources.push(part);
  if (part.type === "error") told.error = String(part.error?.message ?? JSON.stringify(part.error));
  if (part.type === "finish") told.finish = { reason: part.finishReason, tokens: part.totalUsage.totalTokens };
}
console.log(JSON.stringify(told));
