// A parameter and a field that do not exist must not compile: tests/node/clients.py.
import createClient from "openapi-fetch";
import type { paths } from "./steelyard.js";
declare const process: { env: Record<string, string> };
const { BASE, KEY, QUESTION } = process.env;
const headers = { Authorization: `Bearer ${KEY}` };
const client = createClient<paths>({ baseUrl: BASE, headers });
const { data } = await client.GET("/api/v1/search/", { params: { query: { query: QUESTION } } });
const first = data!.results[0];
console.log(first.document.title, first.text);
// @ts-expect-error
client.GET("/api/v1/search/", { params: { query: { quest: QUESTION } } }).catch(() => null);
// @ts-expect-error
first.document.heading;
const { data: answer } = await client.POST("/api/v1/answers/", { body: { query: QUESTION } });
console.log(typeof answer === "string" ? answer : answer!.state);
const streamed = await client.POST("/api/v1/answers/", {
  body: { query: QUESTION, stream: true },
  parseAs: "text",
});
const events = (streamed.data as string).match(/(?<=event: )(sources|token|done)/g)!;
console.log([...new Set(events)].join(" "));
const upload = await client.POST("/api/v1/documents/", {
  // In the types a file is a string.
  body: {
    collection: "handbook",
    file: new File(["# Ebb\n\nLow water."], "ebb.md") as unknown as string,
    readers: { people: ["programmer"], groups: [] },
  },
  bodySerializer: ({ collection, file, readers }) => {
    const form = new FormData();
    form.append("collection", collection);
    form.append("file", file as unknown as Blob);
    form.append("readers", JSON.stringify(readers));
    return form;
  },
});
console.log(JSON.stringify(upload.data!.readers!.people));
const shown = await client.GET("/api/v1/profiles/{profile}/", {
  params: { path: { profile: "default" } },
});
const header = { "If-Match": shown.response.headers.get("ETag")! };
const weights = { general: { vector: 0.5, keyword: 0.5 } };
const draft = await client.PATCH("/api/v1/profiles/{profile}/", {
  params: { path: { profile: shown.data!.key }, header },
  body: { weights },
});
const { key } = draft.data!;
const late = await client.PATCH("/api/v1/profiles/{profile}/", {
  params: { path: { profile: key }, header },
  body: { weights },
});
console.log(key, late.error!.code);
