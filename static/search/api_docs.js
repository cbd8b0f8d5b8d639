// The list of operations, in the page's colours.
"use strict";

const place = document.getElementById("swagger-ui");
const dark = matchMedia("(prefers-color-scheme: dark)");
const follow = () => {
  const { classList, dataset } = document.documentElement;
  classList.toggle("dark-mode", dataset.theme ? dataset.theme === "dark" : dark.matches);
};
follow();
dark.addEventListener("change", follow);

const ui = SwaggerUIBundle({
  url: place.dataset.schema,
  dom_id: "#swagger-ui",
  presets: [SwaggerUIBundle.presets.apis],
  layout: "BaseLayout",
  deepLinking: true,
  docExpansion: "none",
  filter: true,
  defaultModelsExpandDepth: -1,
  // Otherwise it would send the schema's address to a validator on the internet.
  validatorUrl: null,
  requestInterceptor(request) {
    if (request.method && request.method !== "GET") {
      request.headers[place.dataset.csrfHeader] = place.dataset.csrfToken;
    }
    return request;
  },
  onComplete() {
    if (location.hash) return;
    ui.layoutActions.show(["operations-tag", "search"], true);
    // Opened by the page, not by the reader: the address stays as it was.
    history.replaceState(null, "", location.pathname + location.search);
  },
});
