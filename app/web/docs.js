// The API reference: Swagger UI over this service's own OpenAPI document, in the theme of the page.
const root = document.documentElement;
const dark = matchMedia("(prefers-color-scheme: dark)");
const paint = () => root.classList.toggle("dark-mode", root.dataset.theme ? root.dataset.theme === "dark" : dark.matches);
dark.addEventListener("change", paint);
paint();

window.SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#reference",
  deepLinking: true,
  displayOperationId: false,
  persistAuthorization: false,
  tryItOutEnabled: true,
  validatorUrl: null,
});
