// The API reference: Swagger UI over this service's own OpenAPI document.
window.SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#reference",
  deepLinking: true,
  displayOperationId: false,
  persistAuthorization: false,
  tryItOutEnabled: true,
  validatorUrl: null,
});
