"""The named endpoints, for gradio_client and MCP."""
