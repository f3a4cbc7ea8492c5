"""Named API endpoints, for gradio_client and MCP."""
