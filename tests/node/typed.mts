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
const draft = { path: { profile: "default@4" }, header: { "If-Match": "*" } };
const weights = { general: { vector: 0.5, keyword: 0.5 } };
const changed = await client.PATCH("/api/v1/profiles/{profile}/", {
  params: draft,
  body: { weights },
});
console.log(changed.error!.code);
