// Shows the contract. Nothing is asked of anyone but this gateway, and a token given here stays in this page's memory.
(() => {
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const follow = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
  // The viewer warns of every dialect but OpenAPI's own, also of JSON Schema 2020-12, on which that one is built.
  const noDialect = () => ({ components: { JsonSchemaDialect: () => null } });

  dark.addEventListener("change", follow);
  follow();
  window.SwaggerUIBundle({
    url: "/openapi.json",
    dom_id: "#viewer",
    deepLinking: true,
    defaultModelsExpandDepth: 0,
    displayRequestDuration: true,
    persistAuthorization: false,
    plugins: [noDialect],
    queryConfigEnabled: false,
    validatorUrl: null,
  });
})();
