// What typed.mts does, with functions that orval generated: tests/node/clients.py.
import * as kb from "./orval.mts";
declare const process: { env: Record<string, string> };
const { KEY, QUESTION } = process.env;
const headers = { Authorization: `Bearer ${KEY}` };
const asked = await kb.search({ query: QUESTION }, { headers });
if (asked.status !== 200) throw asked.data;
console.log(asked.data.results[0].document.title, asked.data.results[0].text);
// @ts-expect-error
const wrong: kb.SearchParams = { quest: QUESTION };
const answered = await kb.answersCreate({ query: QUESTION }, { headers });
console.log(typeof answered.data === "string" || !("state" in answered.data) || answered.data.state);
// orval reads whole answers; of a stream it gives the address and the type of the body.
const body: kb.AskParametersRequest = { query: QUESTION, stream: true };
const sent = { ...headers, "Content-Type": "application/json" };
const stream = await fetch(kb.getAnswersCreateUrl(), {
  method: "POST", headers: sent, body: JSON.stringify(body),
});
const events = (await stream.text()).match(/(?<=event: )(sources|token|done)/g)!;
console.log([...new Set(events)].join(" "));
const readers = { people: ["programmer"], groups: [] };
const file = new File(["# Ebb\n\nLow water."], "ebb.md");
const upload = await kb.documentsCreate({ collection: "handbook", file, readers }, { headers });
if (upload.status !== 202) throw upload.data;
console.log(JSON.stringify(upload.data.readers!.people));
const shown = await kb.profilesRetrieve("default", { headers });
if (shown.status !== 200) throw shown.data;
const guarded = { headers: { ...headers, "If-Match": shown.headers.get("ETag")! } };
const weights = { general: { vector: 0.5, keyword: 0.5 } };
const draft = await kb.profilesPartialUpdate(shown.data.key, { weights }, guarded);
if (draft.status !== 201) throw draft.data;
const late = await kb.profilesPartialUpdate(draft.data.key, { weights }, guarded);
console.log(draft.data.key, late.status === 412 && late.data.code);
