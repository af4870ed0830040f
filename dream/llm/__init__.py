"""The one door to models: LiteLLM behind a gateway, the embedded model, spending, batches."""
