const { SCHEMA, BASE } = process.env;
export default { kb: { input: SCHEMA, output: { target: "orval.mts", client: "fetch", baseUrl: BASE } } };
